// How similar an object of several vectors is to a query of several: for each vector of the query the most similar member
// counts, and the mean of these is the similarity (MaxSim of late interaction, divided by the length of the query so that the
// number means the same for every query). Vectors are rows of one array.

import type { SpaceType } from '../model/schema.ts'
import { lengthOf } from '../model/vector-form.ts'

/** `query` is of unit length for cosine; `members` are as they came. A member without length is as similar as nothing: 0. */
export function maxSim(query: Float32Array, members: Float32Array, dimension: number, spaceType: SpaceType): number {
  const scales = spaceType === 'cosine' ? scalesOf(members, dimension) : undefined
  const compare = spaceType === 'l2' ? nearness : inner
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

function inner(a: Float32Array, atA: number, b: Float32Array, atB: number, dimension: number): number {
  let sum = 0
  for (let i = 0; i < dimension; i++) sum += (a[atA + i] as number) * (b[atB + i] as number)
  return sum
}

function nearness(a: Float32Array, atA: number, b: Float32Array, atB: number, dimension: number): number {
  let sum = 0
  for (let i = 0; i < dimension; i++) sum -= ((a[atA + i] as number) - (b[atB + i] as number)) ** 2
  return sum
}
