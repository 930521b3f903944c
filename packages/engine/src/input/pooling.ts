// Pools the members of an object in a multi-vector field into the one vector that the graph links. A pure function
// whose result is part of the state, so it must never change for a given definition.

import type { MultiFieldSchema } from '../model/schema.ts'
import { lengthOf, scaleToUnit } from '../model/vector-form.ts'

export interface Pooled {
  /** Of unit length for cosine, or zero. */
  readonly vector: Float32Array
  /** Norm of the pooled vector before it was normalized. */
  readonly norm: number
}

/**
 * The element-wise mean or maximum of the members, which are normalized first for cosine. `members` holds them
 * contiguously, at least one.
 */
export function pooled(members: Float32Array, { dimension, spaceType, pooling }: MultiFieldSchema['params']): Pooled {
  const rows = spaceType === 'cosine' ? unitRows(members, dimension) : members
  const count = rows.length / dimension
  const vector = new Float32Array(dimension)
  let squares = 0
  for (let i = 0; i < dimension; i++) {
    let sum = 0
    let most = Number.NEGATIVE_INFINITY
    for (let index = i; index < rows.length; index += dimension) {
      const x = rows[index] as number
      sum += x
      if (x > most) most = x
    }
    const x = Math.fround(pooling === 'mean' ? sum / count : most)
    vector[i] = x
    squares += x * x
  }
  const norm = Math.sqrt(squares)
  if (spaceType === 'cosine') scaleToUnit(vector, norm, vector, 0)
  return { vector, norm }
}

/** Copies of the rows, each of unit length or zero. */
export function unitRows(rows: Float32Array, dimension: number): Float32Array {
  const unit = rows.slice()
  for (let index = 0; index < rows.length; index += dimension) {
    const row = rows.subarray(index, index + dimension)
    scaleToUnit(row, lengthOf(row), unit, index)
  }
  return unit
}
