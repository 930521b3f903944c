// Fashion-MNIST as objects with filter values: its label, and a number that has nothing to do with the picture, by which any
// share of the objects can be asked for.
import { readFileSync } from 'node:fs'
import path from 'node:path'

export interface Photos {
  readonly rows: number
  readonly queries: number
  readonly dimension: number
  readonly label: Uint8Array
  readonly queryLabel: Uint8Array
  /** 0 to rows - 1, each once, in an order of its own. */
  readonly number: Uint32Array
  row(row: number): Uint8Array
  query(query: number): Uint8Array
  /** Squared distances of the k nearest rows that are wanted, nearest first. */
  nearest(query: number, k: number, wanted: (row: number) => boolean): number[]
}

/** The first `rows` of the set. */
export function readPhotos(folder: string, rows: number): Photos {
  const read = (file: string) => new Uint8Array(readFileSync(path.join(folder, file)))
  const meta = JSON.parse(readFileSync(path.join(folder, 'meta.json'), 'utf8')) as { n: number; d: number; nq: number }
  const [base, queries] = [read('base.u8'), read('queries.u8')]
  const [count, dimension] = [Math.min(rows, meta.n), meta.d]
  const row = (i: number) => base.subarray(i * dimension, (i + 1) * dimension)
  const query = (i: number) => queries.subarray(i * dimension, (i + 1) * dimension)
  return {
    rows: count,
    queries: meta.nq,
    dimension,
    label: read('base_labels.u8'),
    queryLabel: read('query_labels.u8'),
    number: shuffled(count),
    row,
    query,
    nearest: (i, k, wanted) => {
      const distances: number[] = []
      for (let at = 0; at < count; at++) if (wanted(at)) distances.push(squaredDistance(row(at), query(i)))
      return distances.sort((a, b) => a - b).slice(0, k)
    },
  }
}

function squaredDistance(a: Uint8Array, b: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) {
    const difference = (a[i] as number) - (b[i] as number)
    sum += difference * difference
  }
  return sum
}

function shuffled(count: number): Uint32Array {
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
