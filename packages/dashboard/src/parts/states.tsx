// The loading, empty and error states, the same on every page.

import { cures } from 'virtual:cures'
import { signal } from '@preact/signals'
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useLayoutEffect, useRef } from 'preact/hooks'
import { AnnalError } from '../api/request.ts'
import type { Loaded } from '../load.ts'
import { Said } from './stored.tsx'

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

interface Shown {
  readonly key: string
  readonly retry: (() => void) | undefined
}

/** The failures on the page, in the order in which they appeared. */
const failures = signal<readonly Shown[]>([])

/** What a reader sees at a time: the page, or a dialog above it. */
export const Layer = createContext('page')

/** Several parts of a page often fail for one reason. It is shown once, and its button tries all of them again. */
export function Failure(props: {
  readonly error: Error
  readonly retry?: (() => void) | undefined
  /** Shown where the same failure is shown already. */
  readonly instead?: string
}) {
  const { error, retry } = props
  const key = `${useContext(Layer)}: ${reasonOf(error)}`
  const own = useRef<Shown>(undefined)
  useLayoutEffect(() => {
    const shown = { key, retry: () => latestRetry.current?.() }
    own.current = shown
    failures.value = [...failures.value, shown]
    return () => {
      failures.value = failures.value.filter((other) => other !== shown)
    }
  }, [key])
  const latestRetry = useRef(retry)
  latestRetry.current = retry
  const same = failures.value.filter((other) => other.key === key)
  if (same[0] !== undefined && same[0] !== own.current)
    return props.instead === undefined ? null : <p class="muted instead">{props.instead}</p>
  const retryAll = () => {
    for (const { retry } of same) retry?.()
  }
  return <Reason error={error} retry={retry && retryAll} />
}

/** Failures of one reason differ in the request only. */
function reasonOf(error: Error): string {
  if (!(error instanceof AnnalError)) return error.message
  return error.code === 'unreachable' ? error.code : `${error.code} ${error.message}`
}

/** An error with its code and the advice of the error reference. */
function Reason({ error, retry }: { readonly error: Error; readonly retry: (() => void) | undefined }) {
  const coded = error instanceof AnnalError ? error : undefined
  const known = coded === undefined ? undefined : cures[coded.code]
  return (
    <div class="failure" role="alert">
      <div>
        {coded && <code>{coded.code}</code>}{' '}
        <strong>
          <Said text={sentence(error.message)} />
        </strong>
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

/** Names of files and fields, which stand before a colon, stay as they are. */
function sentence(text: string): string {
  return /^\S*[.:_]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
}

/** Renders a loaded value, or why there is none yet. */
export function Show<T>(props: {
  readonly source: Loaded<T> & { readonly again: () => void }
  readonly lines?: number
  readonly children: (value: T) => ComponentChildren
}) {
  const { source } = props
  if (source.kind === 'loading') return <Loading {...(props.lines === undefined ? {} : { lines: props.lines })} />
  if (source.kind === 'failed') return <Failure error={source.error} retry={source.again} instead="Not loaded." />
  return (
    <>
      {source.stale && <Failure error={source.stale} retry={source.again} />}
      {props.children(source.value)}
    </>
  )
}
