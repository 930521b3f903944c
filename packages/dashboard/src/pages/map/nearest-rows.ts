// The nearest rows of every row, exactly: for the few thousand rows of a map, every pair is compared once, which takes less time
// than a search that guesses.

/** `indices` and `distances` of `k` rows each, the nearest first, each row its own first. Rows lie one after another. */
export function nearestRows(rows: Float32Array, width: number, k: number) {
  const n = rows.length / width
  const kept = Math.min(k, n)
  const who = new Int32Array(n * kept)
  const squares = new Float32Array(n * kept).fill(Number.POSITIVE_INFINITY)
  const put = (row: number, other: number, square: number): void => {
    let at = row * kept + kept - 1
    const first = row * kept
    while (at > first && squares[at - 1]! > square) {
      squares[at] = squares[at - 1]!
      who[at] = who[at - 1]!
      at--
    }
    squares[at] = square
    who[at] = other
  }
  const one = new Float32Array(width)
  for (let i = 0; i < n; i++) {
    put(i, i, 0)
    one.set(rows.subarray(i * width, (i + 1) * width))
    for (let j = i + 1, at = (i + 1) * width; j < n; j++, at += width) {
      let square = 0
      for (let d = 0; d < width; d++) {
        const difference = one[d]! - rows[at + d]!
        square += difference * difference
      }
      if (square < squares[i * kept + kept - 1]!) put(i, j, square)
      if (square < squares[j * kept + kept - 1]!) put(j, i, square)
    }
  }
  const listsOf = (all: Int32Array | Float32Array, of: (value: number) => number) =>
    Array.from({ length: n }, (_, i) => Array.from(all.subarray(i * kept, (i + 1) * kept), of))
  return { indices: listsOf(who, (index) => index), distances: listsOf(squares, Math.sqrt) }
}
