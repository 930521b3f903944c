// What is searched with filters: rows with a label and with a number that has nothing to do with the vector, by which any share
// of them can be asked for.

export type Vector = Uint8Array | Float32Array

export interface Things {
  readonly title: string
  readonly rows: number
  readonly queries: number
  readonly dimension: number
  /** 0 to rows - 1, each once, in an order of its own. */
  readonly number: Uint32Array
  /** 0 to 9. */
  label(row: number): number
  queryLabel(query: number): number
  row(row: number): Vector
  query(query: number): Vector
}

/** Squared distances of the k nearest rows that are wanted, nearest first. */
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
