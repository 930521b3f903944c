// What a page shows while it waits, when there is nothing, and when something went wrong: the same everywhere.

import { cures } from 'virtual:cures'
import type { ComponentChildren } from 'preact'
import { CallFailure } from '../api/request.ts'
import type { Loaded } from '../load.ts'

export function Loading({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden skeleton-text">Loading</span>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} style={{ width: `${92 - ((i * 37) % 45)}%` }} aria-hidden="true" />
      ))}
    </div>
  )
}

export function Empty(props: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  )
}

/** An error with its code and what cures it, in the words of the reference. */
export function Failure({ error, retry }: { readonly error: Error; readonly retry?: (() => void) | undefined }) {
  const coded = error instanceof CallFailure ? error : undefined
  const known = coded === undefined ? undefined : cures[coded.code]
  return (
    <div class="failure" role="alert">
      <div>
        {coded && <code>{coded.code}</code>} <strong>{sentence(error.message)}</strong>
      </div>
      {known && <div class="muted">{known.cure}</div>}
      {coded?.requestId && <div class="muted small mono">request {coded.requestId}</div>}
      {retry && (
        <div>
          <button type="button" class="compact" onClick={retry}>
            Try again
          </button>
        </div>
      )}
    </div>
  )
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Draws a loaded value, or why there is none yet. */
export function Show<T>(props: {
  readonly of: Loaded<T> & { readonly again: () => void }
  readonly lines?: number
  readonly children: (value: T) => ComponentChildren
}) {
  const { of } = props
  if (of.kind === 'loading') return <Loading {...(props.lines === undefined ? {} : { lines: props.lines })} />
  if (of.kind === 'failed') return <Failure error={of.error} retry={of.again} />
  return (
    <>
      {of.stale && <Failure error={of.stale} retry={of.again} />}
      {props.children(of.value)}
    </>
  )
}
