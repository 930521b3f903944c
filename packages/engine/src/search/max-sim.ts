// Similarity of an object with several vectors to a query with several vectors: the mean, over the query's vectors, of the similarity of
// the most similar member. This is MaxSim of late interaction divided by the number of the query's vectors, so that values of different
// queries are comparable. Vectors are rows of one array.

import type { SpaceType } from '../model/schema.ts'
import { lengthOf } from '../model/vector-form.ts'

/** Rows of `query` must have unit length for cosine; `members` are as given. A member of length 0 has similarity 0. */
export function maxSim(query: Float32Array, members: Float32Array, dimension: number, spaceType: SpaceType): number {
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

function innerProduct(a: Float32Array, offsetA: number, b: Float32Array, offsetB: number, dimension: number): number {
  let sum = 0
  for (let i = 0; i < dimension; i++) sum += (a[offsetA + i] as number) * (b[offsetB + i] as number)
  return sum
}

function negativeSquaredDistance(
  a: Float32Array,
  offsetA: number,
  b: Float32Array,
  offsetB: number,
  dimension: number,
): number {
  let sum = 0
  for (let i = 0; i < dimension; i++) sum -= ((a[offsetA + i] as number) - (b[offsetB + i] as number)) ** 2
  return sum
}
