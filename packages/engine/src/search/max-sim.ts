// Similarity of an object with several vectors to a query with several vectors: the mean, over the query's vectors, of the similarity of
// the most similar member. This is MaxSim of late interaction divided by the number of the query's vectors, so that values of different
// queries are comparable. Vectors are rows of one array.

import type { SpaceType } from '../model/schema.ts'
import { lengthOf } from '../model/vector-form.ts'

/** Rows of `query` must have unit length for cosine; `members` are as given. A member of length 0 has similarity 0. */
export function maxSim(query: Float32Array, members: Float32Array, dimension: number, spaceType: SpaceType): number {
  if (query.length === dimension && members.length === dimension) return similarityOf(query, members, spaceType)
  const scales = spaceType === 'cosine' ? scalesOf(members, dimension) : undefined
  const compare = spaceType === 'l2' ? negativeSquaredDistance : innerProduct
  let sum = 0
  for (let q = 0; q < query.length; q += dimension) {
    let best = Number.NEGATIVE_INFINITY
    for (let m = 0; m < members.length; m += dimension) {
      const similarity = compare(query, q, members, m, dimension) * (scales?.[m / dimension] ?? 1)
      if (similarity > best) best = similarity
    }
    sum += best
  }
  return sum / (query.length / dimension)
}

function scalesOf(members: Float32Array, dimension: number): Float64Array {
  return Float64Array.from({ length: members.length / dimension }, (_, i) => {
    const length = lengthOf(members.subarray(i * dimension, (i + 1) * dimension))
    return length === 0 ? 0 : 1 / length
  })
}

/**
 * The same for one query and one vector as given. Each eighth component is added to the same of eight sums, and components beyond a multiple
 * of eight to a ninth: so does compareOriginal of the kernel, bit for bit.
 */
export function similarityOf(query: Float32Array, vector: Float32Array, spaceType: SpaceType): number {
  if (spaceType === 'l2') return negativeSquaredDistance(query, 0, vector, 0, query.length)
  const product = innerProduct(query, 0, vector, 0, query.length)
  if (spaceType === 'ip') return product
  const square = innerProduct(vector, 0, vector, 0, vector.length)
  return square === 0 ? 0 : product / Math.sqrt(square)
}

function innerProduct(a: Float32Array, offsetA: number, b: Float32Array, offsetB: number, dimension: number): number {
  let [s0, s1, s2, s3, s4, s5, s6, s7] = [0, 0, 0, 0, 0, 0, 0, 0]
  let i = 0
  for (; i + 7 < dimension; i += 8) {
    const [p, q] = [offsetA + i, offsetB + i]
    s0 += (a[p] as number) * (b[q] as number)
    s1 += (a[p + 1] as number) * (b[q + 1] as number)
    s2 += (a[p + 2] as number) * (b[q + 2] as number)
    s3 += (a[p + 3] as number) * (b[q + 3] as number)
    s4 += (a[p + 4] as number) * (b[q + 4] as number)
    s5 += (a[p + 5] as number) * (b[q + 5] as number)
    s6 += (a[p + 6] as number) * (b[q + 6] as number)
    s7 += (a[p + 7] as number) * (b[q + 7] as number)
  }
  let rest = 0
  for (; i < dimension; i++) rest += (a[offsetA + i] as number) * (b[offsetB + i] as number)
  return s0 + s2 + (s4 + s6) + (s1 + s3 + (s5 + s7)) + rest
}

function negativeSquaredDistance(
  a: Float32Array,
  offsetA: number,
  b: Float32Array,
  offsetB: number,
  dimension: number,
): number {
  let [s0, s1, s2, s3, s4, s5, s6, s7] = [0, 0, 0, 0, 0, 0, 0, 0]
  let i = 0
  for (; i + 7 < dimension; i += 8) {
    const [p, q] = [offsetA + i, offsetB + i]
    s0 += ((a[p] as number) - (b[q] as number)) ** 2
    s1 += ((a[p + 1] as number) - (b[q + 1] as number)) ** 2
    s2 += ((a[p + 2] as number) - (b[q + 2] as number)) ** 2
    s3 += ((a[p + 3] as number) - (b[q + 3] as number)) ** 2
    s4 += ((a[p + 4] as number) - (b[q + 4] as number)) ** 2
    s5 += ((a[p + 5] as number) - (b[q + 5] as number)) ** 2
    s6 += ((a[p + 6] as number) - (b[q + 6] as number)) ** 2
    s7 += ((a[p + 7] as number) - (b[q + 7] as number)) ** 2
  }
  let rest = 0
  for (; i < dimension; i++) rest += ((a[offsetA + i] as number) - (b[offsetB + i] as number)) ** 2
  return -(s0 + s2 + (s4 + s6) + (s1 + s3 + (s5 + s7)) + rest)
}
