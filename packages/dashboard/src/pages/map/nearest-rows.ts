// The exact nearest rows of every row. For the few thousand rows of a map, comparing every pair once is faster than an approximate
// search.

/** `indices` and `distances` hold `k` entries per row, nearest first, starting with the row itself. Rows follow one another. */
export function nearestRows(rows: Float32Array, width: number, k: number) {
  const n = rows.length / width
  const kept = Math.min(k, n)
  const who = new Int32Array(n * kept)
  const squares = new Float32Array(n * kept).fill(Number.POSITIVE_INFINITY)
  const put = (row: number, other: number, square: number): void => {
    let slot = row * kept + kept - 1
    const first = row * kept
    while (slot > first && squares[slot - 1]! > square) {
      squares[slot] = squares[slot - 1]!
      who[slot] = who[slot - 1]!
      slot--
    }
    squares[slot] = square
    who[slot] = other
  }
  const one = new Float32Array(width)
  for (let i = 0; i < n; i++) {
    put(i, i, 0)
    one.set(rows.subarray(i * width, (i + 1) * width))
    for (let j = i + 1, offset = (i + 1) * width; j < n; j++, offset += width) {
      let square = 0
      for (let d = 0; d < width; d++) {
        const difference = one[d]! - rows[offset + d]!
        square += difference * difference
      }
      if (square < squares[i * kept + kept - 1]!) put(i, j, square)
      if (square < squares[j * kept + kept - 1]!) put(j, i, square)
    }
  }
  const listsOf = (all: Int32Array | Float32Array, convert: (value: number) => number) =>
    Array.from({ length: n }, (_, i) => Array.from(all.subarray(i * kept, (i + 1) * kept), convert))
  return { indices: listsOf(who, (index) => index), distances: listsOf(squares, Math.sqrt) }
}
