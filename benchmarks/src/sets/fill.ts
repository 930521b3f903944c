// Loads rows into a dense field as a bulk load does, ten thousand in each apply.
import type { openDenseField } from '@annal/engine/testing'
import { progress } from './progress.ts'

export type Field = Awaited<ReturnType<typeof openDenseField>>

const batch = 10_000

/** `what` is printed with the progress of a long load. */
export async function fill(field: Field, rows: Float32Array, dimension: number, what: string): Promise<void> {
  const n = rows.length / dimension
  const tell = progress(what, n)
  for (let from = 0; from < n; from += batch) {
    const to = Math.min(n, from + batch)
    const ordinals = Uint32Array.from({ length: to - from }, (_, i) => from + i)
    const vectors = rows.subarray(from * dimension, to * dimension)
    await field.apply(from / batch + 1, { ordinals, vectors, norms: norms(vectors, dimension) }, new Uint32Array(0))
    tell(to)
  }
}

/** The graph only depends on whether the length of a vector is zero. */
export function norms(vectors: Float32Array, dimension: number): Float32Array {
  return Float32Array.from({ length: vectors.length / dimension }, (_, i) =>
    vectors.subarray(i * dimension, (i + 1) * dimension).some((x) => x !== 0) ? 1 : 0,
  )
}
