// Vectors on the wire. In a cosine index a vector travels as its direction and its length; elsewhere as it is.
import type { SpaceType } from '../definition.ts'
import { AnnalError } from '../errors.ts'
import type { SparseVector } from '../record.ts'

/** The published clients' floor, which keeps an all-zero vector from being divided by zero. */
const normMin = 1e-10

/** What a vector is divided by before it is sent; 1 where the space is not cosine. Refuses what float32 cannot hold. */
export function lengthOf(vector: ArrayLike<number>, space: SpaceType, field: string): number {
  if (vector === null || typeof vector !== 'object' || typeof vector.length !== 'number') {
    throw new AnnalError('invalid_argument', `${field} is not a list of numbers`, { field, value: vector })
  }
  let squares = 0
  for (let i = 0; i < vector.length; i += 1) {
    const value = vector[i] as number
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) throw notANumber(`${field}[${i}]`, value)
    squares += value * value
  }
  return space === 'cosine' ? Math.max(Math.sqrt(squares), normMin) : 1
}

/** Several vectors, as fields of several vectors take them, rather than one. */
export function isMany(value: ArrayLike<number> | readonly ArrayLike<number>[]): value is readonly ArrayLike<number>[] {
  return Array.isArray(value) && typeof value[0] === 'object'
}

export function checkSparse(sparse: SparseVector, field: string): void {
  lengthOf(sparse.values, 'ip', `${field}.values`)
  lengthOf(sparse.indices, 'ip', `${field}.indices`)
  if (sparse.indices.length !== sparse.values.length) {
    throw new AnnalError(
      'invalid_argument',
      `${field} has ${sparse.indices.length} indices and ${sparse.values.length} values`,
      {
        field,
        value: sparse.indices.length,
        limit: sparse.values.length,
      },
    )
  }
  for (let i = 0; i < sparse.indices.length; i += 1) {
    const index = sparse.indices[i] as number
    if (!Number.isInteger(index) || index < 0 || index >= 2 ** 32) throw notANumber(`${field}.indices[${i}]`, index)
  }
}

/** A vector as it was given, from its direction and length. */
export function withLength(direction: Float32Array, norm: number, space: SpaceType): Float32Array {
  return space === 'cosine' ? direction.map((value) => value * norm) : direction
}

function notANumber(field: string, value: unknown): AnnalError {
  return new AnnalError('invalid_argument', `${field} is not a number that fits: ${String(value)}`, { field, value })
}
