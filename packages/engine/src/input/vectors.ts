// Checks vectors and converts them to the stored form, float32. Queries of cosine fields are normalized to unit length; stored
// vectors keep their values.

import { EngineError } from '../errors.ts'
import { cosineLengthMax, lengthMax, sparseTermsMax } from '../limits.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { SparseVector } from '../model/object.ts'
import type { DenseSchemaParams, SparseFieldSchema } from '../model/schema.ts'
import { scaleToUnit } from '../model/vector-form.ts'

/** The largest float32; a value that rounds above it is stored as Infinity. */
const float32Max = 3.4028234663852886e38

/** As putFloats; for cosine the vector is then brought to unit length. */
export function putQuery(
  value: ArrayLike<number>,
  params: Pick<DenseSchemaParams, 'dimension' | 'spaceType'>,
  target: Float32Array,
  offset: number,
  field: string,
): void {
  const length = putFloats(value, params, target, offset, field)
  if (params.spaceType === 'cosine') scaleInPlace(target, offset, params.dimension, length)
}

/** Brings the floats of `target` from `offset` on, a vector of this length, to unit length. */
export function scaleInPlace(target: Float32Array, offset: number, dimension: number, length: number): void {
  const floats = target.subarray(offset, offset + dimension)
  scaleToUnit(floats, length, floats, 0)
}

/**
 * Writes `value` (length = dimension) into `target` at `offset` and returns its norm: for cosine the norm that was
 * divided out, for l2 and ip only information. Throws invalid_argument with the element that is not a finite float32.
 */
export function putFloats(
  value: ArrayLike<number>,
  { dimension, spaceType }: Pick<DenseSchemaParams, 'dimension' | 'spaceType'>,
  target: Float32Array,
  offset: number,
  field: string,
): number {
  if (value.length !== dimension) {
    throw new EngineError(
      'invalid_argument',
      `${field} has ${value.length} elements, but the field's dimension is ${dimension}`,
      {
        field,
        value: value.length,
        limit: dimension,
      },
    )
  }
  let sum = 0
  for (let i = 0; i < dimension; i++) {
    const x = value[i] as number
    // This comparison refuses NaN, both infinities, values that overflow float32, and everything that is not a number.
    if (typeof x !== 'number' || !(x <= float32Max && x >= -float32Max)) throw badElement(field, i, x)
    target[offset + i] = x
    const kept = target[offset + i] as number
    sum += kept * kept
  }
  const norm = Math.sqrt(sum)
  checkLength(norm, spaceType === 'cosine' ? cosineLengthMax : lengthMax, field)
  return norm
}

/** Refuses a vector so long that results computed from it would not be finite. Throws limit_exceeded. */
export function checkLength(norm: number, max: number, field: string): void {
  if (norm <= max) return
  throw new EngineError('limit_exceeded', `${field} has norm ${norm}; the limit is ${max}`, {
    field,
    value: norm,
    limit: max,
  })
}

/**
 * Reads the members of an object or a query in a multi-vector field, in the given order; a single vector is one member.
 * Throws invalid_argument or limit_exceeded with the member.
 */
export function parseMembers(
  value: unknown,
  params: Pick<DenseSchemaParams, 'dimension' | 'spaceType'>,
  field: string,
  membersMax: number,
): Float32Array {
  if (!isArrayLike(value) || value.length === 0) {
    const message = `${field} must be a non-empty array of vectors, got ${printed(value)}`
    throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
  }
  const members: ArrayLike<unknown> = isArrayLike(value[0]) ? value : [value]
  if (members.length > membersMax) {
    throw new EngineError(
      'limit_exceeded',
      `${field} has ${members.length} vectors, but at most ${membersMax} are allowed`,
      {
        field,
        value: members.length,
        limit: membersMax,
      },
    )
  }
  const { dimension } = params
  const rows = new Float32Array(members.length * dimension)
  for (let i = 0; i < members.length; i++) {
    const member = members[i]
    const path = members === value ? `${field}[${i}]` : field
    if (!isArrayLike(member)) {
      throw new EngineError('invalid_argument', `${path} must be an array of numbers, got ${printed(member)}`, {
        field: path,
        value: shownValue(member),
      })
    }
    putFloats(member, params, rows, i * dimension, path)
  }
  return rows
}

export interface SparseTerms {
  /** Ascending. */
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/**
 * Throws invalid_argument for unequal lengths, indices out of range or duplicated, and values that are not finite
 * float32.
 */
export function parseSparse(value: SparseVector, definition: SparseFieldSchema, field: string): SparseTerms {
  const { indices, values } = value
  if (!isArrayLike(indices) || !isArrayLike(values)) {
    throw new EngineError('invalid_argument', `${field} must have indices and values, two arrays of numbers`, { field })
  }
  if (indices.length !== values.length) {
    throw new EngineError(
      'invalid_argument',
      `${field} has ${indices.length} indices and ${values.length} values, but needs equally many`,
      {
        field,
        value: values.length,
        limit: indices.length,
      },
    )
  }
  if (indices.length > sparseTermsMax) {
    throw new EngineError(
      'limit_exceeded',
      `${field} has ${indices.length} terms, but at most ${sparseTermsMax} are allowed`,
      {
        field,
        value: indices.length,
        limit: sparseTermsMax,
      },
    )
  }
  const order = Array.from({ length: indices.length }, (_, i) => i).sort(
    (a, b) => (indices[a] as number) - (indices[b] as number),
  )
  const limit = definition.params.dimension
  let squares = 0
  order.forEach((position, i) => {
    const index = indices[position]
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= limit) {
      throw new EngineError(
        'invalid_argument',
        `${field}.indices[${position}] is ${printed(index)}, it must be a whole number in [0, ${limit})`,
        {
          field: `${field}.indices[${position}]`,
          value: shownValue(index),
          limit,
        },
      )
    }
    if (i > 0 && index === indices[order[i - 1] as number]) {
      throw new EngineError('invalid_argument', `${field}.indices contains ${index} twice`, {
        field: `${field}.indices`,
        value: index,
      })
    }
    const x = values[position] as number
    if (typeof x !== 'number' || !(x <= float32Max && x >= -float32Max))
      throw badElement(`${field}.values`, position, x)
    squares += x * x
  })
  checkLength(Math.sqrt(squares), lengthMax, `${field}.values`)
  return {
    indices: Uint32Array.from(order, (position) => indices[position] as number),
    values: Float32Array.from(order, (position) => values[position] as number),
  }
}

/** An array or a typed array. A string has a length too but is refused. */
export function isArrayLike(value: unknown): value is ArrayLike<number> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)
}

function badElement(field: string, index: number, value: unknown): EngineError {
  return new EngineError(
    'invalid_argument',
    `${field}[${index}] is ${printed(value)}, it must be a finite 32-bit float`,
    {
      field: `${field}[${index}]`,
      value: shownValue(value),
      limit: float32Max,
    },
  )
}
