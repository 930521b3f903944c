// Which ids of a request a record concerned, short enough to be kept with its request key.

/** Which of `all` are in `some`, in the same order: a bit for each in base64, or nothing if all are. */
export function choiceOf(all: readonly string[], some: readonly string[]): string | undefined {
  if (some.length === all.length) return undefined
  const bits = new Uint8Array(Math.ceil(all.length / 8))
  let next = 0
  all.forEach((id, i) => {
    if (id !== some[next]) return
    next++
    bits[i >> 3]! |= 1 << (i & 7)
  })
  return Buffer.from(bits).toString('base64')
}

/** Inverse of `choiceOf`. An empty list is that of a delete that found nothing. */
export function chosen(all: readonly string[], choice: unknown): readonly string[] {
  if (choice === undefined) return all
  if (typeof choice !== 'string') return []
  const bits = Buffer.from(choice, 'base64')
  return all.filter((_, i) => ((bits[i >> 3] ?? 0) & (1 << (i & 7))) !== 0)
}
