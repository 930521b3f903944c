// A question to the server as a state that a page draws: loading, failed or ready; asked anew on demand or every so often.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** `stale` when the newest try failed and what is shown is of before. */
  | { readonly kind: 'ready'; readonly value: T; readonly stale?: Error }

export interface LoadOptions {
  /** Asks again so long after each answer, while the tab is seen. */
  readonly everyMs?: number | undefined
}

export function useLoad<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  about: readonly unknown[],
  { everyMs }: LoadOptions = {},
): Loaded<T> & { readonly again: () => void } {
  const [state, setState] = useState<Loaded<T>>({ kind: 'loading' })
  const [round, setRound] = useState(0)
  const asked = useRef(ask)
  asked.current = ask
  // Another question begins anew; the same one asked again keeps showing its last answer.
  const question = JSON.stringify(about)
  const shown = useRef(question)

  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    if (shown.current !== question) setState({ kind: 'loading' })
    shown.current = question
    const run = async (): Promise<void> => {
      const next = await asked.current(abort.signal).then(
        (value): Loaded<T> => ({ kind: 'ready', value }),
        (error: unknown): Loaded<T> => ({ kind: 'failed', error: asError(error) }),
      )
      if (abort.signal.aborted) return
      setState((before) =>
        next.kind === 'failed' && before.kind === 'ready'
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
  }, [question, round, everyMs])

  const again = useCallback(() => setRound((before) => before + 1), [])
  return { ...state, again }
}

/** A value once it has stayed the same for a moment: what is being pulled or typed is not asked for at every step. */
export function useRested<T>(value: T, restMs = 120): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs)
    return () => clearTimeout(timer)
  }, [value, restMs])
  return rested
}

/** Something the user started: whether it runs, and how it failed. */
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

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
