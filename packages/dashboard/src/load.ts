// A request to the server as state that a page renders: loading, failed or ready. It repeats on demand or at an interval.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { AnnalError } from './api/request.ts'

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** `stale` is set when the latest request failed and the value is from an earlier one. */
  | { readonly kind: 'ready'; readonly value: T; readonly stale?: Error }

export interface LoadOptions {
  /** Repeats the request this long after each reply, while the tab is visible. */
  readonly everyMs?: number | undefined
  /** Repeats the request when it changes, and keeps the last value on screen meanwhile. */
  readonly version?: number | string
}

export function useLoad<T>(
  request: (signal: AbortSignal) => Promise<T>,
  keyParts: readonly unknown[],
  { everyMs, version }: LoadOptions = {},
): Loaded<T> & { readonly again: () => void } {
  const [state, setState] = useState<Loaded<T>>({ kind: 'loading' })
  const [round, setRound] = useState(0)
  const latestRequest = useRef(request)
  latestRequest.current = request
  // A new key resets the state. Repeating the same key keeps the last value on screen.
  const key = JSON.stringify(keyParts)
  const shown = useRef(key)

  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    if (shown.current !== key) setState({ kind: 'loading' })
    shown.current = key
    const run = async (): Promise<void> => {
      const next = await latestRequest.current(abort.signal).then(
        (value): Loaded<T> => ({ kind: 'ready', value }),
        (error: unknown): Loaded<T> => ({ kind: 'failed', error: asError(error) }),
      )
      if (abort.signal.aborted) return
      setState((before) =>
        next.kind === 'failed' && before.kind === 'ready' && !isGone(next.error)
          ? { kind: 'ready', value: before.value, stale: next.error }
          : next,
      )
      if (everyMs !== undefined) timer = setTimeout(tick, everyMs)
    }
    const tick = (): void => {
      if (document.hidden) timer = setTimeout(tick, 1_000)
      else void run()
    }
    void run()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [key, round, everyMs, version])

  const again = useCallback(() => setRound((before) => before + 1), [])
  return { ...state, again }
}

/** The value once it has not changed for a moment, so that typing and dragging do not send a request at every step. */
export function useRested<T>(value: T, restMs = 120): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs)
    return () => clearTimeout(timer)
  }, [value, restMs])
  return rested
}

/** An action that the user started: whether it is running, and its error. */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const run = useCallback(async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await work()
    } catch (failure) {
      setError(asError(failure))
    } finally {
      setBusy(false)
    }
  }, [])
  return { busy, error, run, clear: () => setError(undefined) }
}

/** What was deleted is not shown as if it were only older. */
function isGone(error: Error): boolean {
  return error instanceof AnnalError && error.status === 404
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
