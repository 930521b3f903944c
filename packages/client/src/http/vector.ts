// Vectors are sent unchanged.
import { AnnalError } from '../errors.ts'
import type { MultiVector, SparseVector } from '../model.ts'

/** Refuses values that float32 cannot represent. */
export function checkNumbers(vector: ArrayLike<number>, field: string): void {
  if (vector === null || typeof vector !== 'object' || typeof vector.length !== 'number') {
    throw new AnnalError('invalid_argument', `${field} must be a list of numbers`, { field, value: vector })
  }
  for (let i = 0; i < vector.length; i += 1) {
    const value = vector[i] as number
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) throw notANumber(`${field}[${i}]`, value)
  }
}

/** Several vectors, as in a multi-vector field, rather than one. */
export function isMany(value: ArrayLike<number> | MultiVector): value is MultiVector {
  return value !== null && typeof value === 'object' && typeof value[0] === 'object'
}

export function checkSparse(sparse: SparseVector, field: string): void {
  checkNumbers(sparse.values, `${field}.values`)
  checkNumbers(sparse.indices, `${field}.indices`)
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

function notANumber(field: string, value: unknown): AnnalError {
  return new AnnalError('invalid_argument', `${field} is not a finite 32-bit float: ${String(value)}`, { field, value })
}
