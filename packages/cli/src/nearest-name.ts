// The known name that a mistyped one was meant to be.

/** Undefined if none is near: a guess that is wrong helps nobody. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const mistakesMax = Math.max(1, Math.floor(typed.length / 4))
  const near = names
    .map((name) => ({ name, mistakes: mistakesBetween(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ mistakes }) => mistakes <= mistakesMax)
  return near.toSorted((a, b) => a.mistakes - b.mistakes)[0]?.name
}

/** Letters that are wrong, missing, too many, or swapped with the next one: the optimal string alignment distance. */
function mistakesBetween(a: string, b: string): number {
  let [previous, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next[j] = Math.min(
        replaced,
        row[j]! + 1,
        next[j - 1]! + 1,
        isSwap ? previous[j - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    ;[previous, row] = [row, next]
  }
  return row[b.length]!
}
