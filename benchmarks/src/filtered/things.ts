// Rows that are searched with filters: each has a label, and a number that is independent of its vector, by which a filter can select any
// share of the rows.

export type Vector = Uint8Array | Float32Array

export interface Things {
  readonly title: string
  readonly rows: number
  readonly queries: number
  readonly dimension: number
  /** 0 to rows - 1, each once, shuffled. */
  readonly number: Uint32Array
  /** A label from 0 to 9. */
  label(row: number): number
  queryLabel(query: number): number
  row(row: number): Vector
  query(query: number): Vector
}

/** Squared distances of the k nearest rows that `wanted` accepts, nearest first. */
export function nearest(things: Things, query: Vector, k: number, wanted: (row: number) => boolean): number[] {
  const best: number[] = []
  for (let row = 0; row < things.rows; row++) {
    if (!wanted(row)) continue
    const distance = squaredDistance(things.row(row), query)
    if (best.length === k && distance >= (best[k - 1] as number)) continue
    best.push(distance)
    best.sort((a, b) => a - b)
    if (best.length > k) best.pop()
  }
  return best
}

export function squaredDistance(a: Vector, b: Vector): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    sum += difference * difference
  }
  return sum
}

export function shuffled(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  let state = 1
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const j = Math.floor((state / 2 ** 32) * (i + 1))
    const held = order[i] as number
    order[i] = order[j] as number
    order[j] = held
  }
  return order
}
