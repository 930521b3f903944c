// Decides which lines of a log that repeats itself are written: one of each kind in an interval, with the number of those before it that were not.
// A flood of refused requests must not become a flood of lines.

/** Milliseconds between two lines of one kind. */
const intervalMsDefault = 1_000

export interface SparseLines {
  /** Undefined if the line should not be written now. Otherwise how many of its kind were not written since the last one. */
  admit(kind: string): { readonly omitted: number } | undefined
}

/** `now` is in milliseconds. The kinds are few: each is remembered. */
export function createSparseLines(
  now: () => number = () => performance.now(),
  intervalMs = intervalMsDefault,
): SparseLines {
  const kinds = new Map<string, { writtenMs: number; omitted: number }>()
  return {
    admit(kind) {
      const nowMs = now()
      const known = kinds.get(kind)
      if (known === undefined) {
        kinds.set(kind, { writtenMs: nowMs, omitted: 0 })
        return { omitted: 0 }
      }
      if (nowMs - known.writtenMs < intervalMs) {
        known.omitted += 1
        return undefined
      }
      const { omitted } = known
      known.writtenMs = nowMs
      known.omitted = 0
      return { omitted }
    },
  }
}
