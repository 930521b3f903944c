// The loading, empty and error states, the same on every page.

import { cures } from 'virtual:cures'
import type { ComponentChildren } from 'preact'
import { AnnalError } from '../api/request.ts'
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

/** An error with its code and the advice of the error reference. */
export function Failure({ error, retry }: { readonly error: Error; readonly retry?: (() => void) | undefined }) {
  const coded = error instanceof AnnalError ? error : undefined
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
            Retry
          </button>
        </div>
      )}
    </div>
  )
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Renders a loaded value, or why there is none yet. */
export function Show<T>(props: {
  readonly source: Loaded<T> & { readonly again: () => void }
  readonly lines?: number
  readonly children: (value: T) => ComponentChildren
}) {
  const { source } = props
  if (source.kind === 'loading') return <Loading {...(props.lines === undefined ? {} : { lines: props.lines })} />
  if (source.kind === 'failed') return <Failure error={source.error} retry={source.again} />
  return (
    <>
      {source.stale && <Failure error={source.stale} retry={source.again} />}
      {props.children(source.value)}
    </>
  )
}
