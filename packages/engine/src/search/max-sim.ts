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

/** The same for one query and one vector as given. */
export function similarityOf(query: Float32Array, vector: Float32Array, spaceType: SpaceType): number {
  if (spaceType === 'l2') return negativeSquaredDistance(query, 0, vector, 0, query.length)
  return spaceType === 'ip' ? innerProduct(query, 0, vector, 0, query.length) : cosineOf(query, vector)
}

/** The inner product of a query of unit length with the vector divided by its length, in one pass over both. */
function cosineOf(query: Float32Array, vector: Float32Array): number {
  let p0 = 0
  let p1 = 0
  let q0 = 0
  let q1 = 0
  const even = query.length - (query.length % 2)
  for (let i = 0; i < even; i += 2) {
    const a = vector[i] as number
    const b = vector[i + 1] as number
    p0 += (query[i] as number) * a
    p1 += (query[i + 1] as number) * b
    q0 += a * a
    q1 += b * b
  }
  if (even < query.length) {
    const a = vector[even] as number
    p0 += (query[even] as number) * a
    q0 += a * a
  }
  const square = q0 + q1
  return square === 0 ? 0 : (p0 + p1) / Math.sqrt(square)
}

// Four sums at a time, because each addition waits for the one before it.

function innerProduct(a: Float32Array, offsetA: number, b: Float32Array, offsetB: number, dimension: number): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  let i = 0
  for (; i + 3 < dimension; i += 4) {
    s0 += (a[offsetA + i] as number) * (b[offsetB + i] as number)
    s1 += (a[offsetA + i + 1] as number) * (b[offsetB + i + 1] as number)
    s2 += (a[offsetA + i + 2] as number) * (b[offsetB + i + 2] as number)
    s3 += (a[offsetA + i + 3] as number) * (b[offsetB + i + 3] as number)
  }
  for (; i < dimension; i++) s0 += (a[offsetA + i] as number) * (b[offsetB + i] as number)
  return s0 + s1 + (s2 + s3)
}

function negativeSquaredDistance(
  a: Float32Array,
  offsetA: number,
  b: Float32Array,
  offsetB: number,
  dimension: number,
): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  let i = 0
  for (; i + 3 < dimension; i += 4) {
    const d0 = (a[offsetA + i] as number) - (b[offsetB + i] as number)
    const d1 = (a[offsetA + i + 1] as number) - (b[offsetB + i + 1] as number)
    const d2 = (a[offsetA + i + 2] as number) - (b[offsetB + i + 2] as number)
    const d3 = (a[offsetA + i + 3] as number) - (b[offsetB + i + 3] as number)
    s0 += d0 * d0
    s1 += d1 * d1
    s2 += d2 * d2
    s3 += d3 * d3
  }
  for (; i < dimension; i++) s0 += ((a[offsetA + i] as number) - (b[offsetB + i] as number)) ** 2
  return -(s0 + s1 + (s2 + s3))
}
