// The wait before a retry.

const waitFirstMs = 100
const waitLongestMs = 5_000

/**
 * Doubles with every attempt, with random jitter of up to half so that clients do not return in step; never shorter than the wait that
 * the server requested. `attempt` counts from 0; `random` is in [0, 1).
 */
export function waitBefore(
  attempt: number,
  { random, requestedMs }: { random: number; requestedMs: number | undefined },
): number {
  const backoff = Math.min(waitFirstMs * 2 ** attempt, waitLongestMs) * (0.5 + random / 2)
  return Math.max(backoff, requestedMs ?? 0)
}

/** Retry-After as seconds or as a date; undefined for anything else. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

/** Resolves after the time, or rejects with the signal's reason as soon as it aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
