// Builds the columns of an ObjectsUpserted event, one for each field of the collection. Values are added one after another; `finish`
// returns the column.
import { payloadBytesMax, type TimeSlice } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { cosineLengthMax, membersMax, textBytesMax, textTermsMax } from '../limits.ts'
import type { DenseColumn, MultiColumn, SparseColumn, TextColumn } from '../model/event.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { FieldValue, SparseVector } from '../model/object.ts'
import { sparseRecordBytes, textRecordBytes } from '../model/record-bytes.ts'
import type {
  DenseFieldSchema,
  FieldSchema,
  MultiFieldSchema,
  SparseFieldSchema,
  TextFieldSchema,
} from '../model/schema.ts'
import { isUnitLength, vectorForm } from '../model/vector-form.ts'
import { type CountedText, countTerms, keepCounts } from '../text/counted-text.ts'
import {
  checkLength,
  isArrayLike,
  parseMembers,
  parseSparse,
  putFloats,
  type SparseTerms,
  scaleInPlace,
} from './vectors.ts'

/** Numbers copied between two checks of the clock. */
const copiedFloats = 262_144

/** Builds one column of the event. */
export interface ColumnParser {
  readonly field: FieldSchema
  /** Returns the bytes that the value takes in the event. */
  add(value: unknown, position: number, path: string): number
  /** Bytes that the last value takes in the record of its object. */
  readonly recordBytes: number
}

export class DenseParser implements ColumnParser {
  readonly recordBytes = 0
  readonly field: DenseFieldSchema
  readonly #position: number
  readonly #rowsMax: number
  readonly #positions: number[] = []
  /** Allocated with the first vector. Pages of memory that no vector reaches are never committed. */
  #vectors = new Float32Array(0)
  #norms = new Float32Array(0)
  /** Made with the first vector that is not of unit length. */
  #forms: Uint8Array | undefined

  constructor(field: DenseFieldSchema, position: number, objectsMax: number) {
    this.field = field
    this.#position = position
    const rowBytes = field.params.dimension * 4
    this.#rowsMax = Math.min(objectsMax, Math.ceil((payloadBytesMax + 1) / rowBytes))
  }

  get count(): number {
    return this.#positions.length
  }

  add(value: FieldValue, position: number, path: string): number {
    const { dimension } = this.field.params
    const { vector, norm } = splitNorm(value, path)
    const row = this.#positions.length
    if (row === 0) {
      this.#vectors = new Float32Array(this.#rowsMax * dimension)
      this.#norms = new Float32Array(this.#rowsMax)
    }
    const length = putFloats(vector, this.field.params, this.#vectors, row * dimension, path)
    if (this.field.params.spaceType === 'cosine') this.#addCosine(row, length, norm, path)
    else this.#norms[row] = norm ?? length
    this.#positions.push(position)
    return dimension * 4
  }

  /** `norm` is the one that came with the vector. */
  #addCosine(row: number, length: number, norm: number | undefined, path: string): void {
    const { dimension, keepOriginals } = this.field.params
    if (norm !== undefined) checkLength(norm * length, cosineLengthMax, `${path}.norm`)
    if (length === 0 || isUnitLength(length)) {
      this.#norms[row] = norm ?? (length === 0 ? 0 : 1)
    } else if (keepOriginals === false) {
      scaleInPlace(this.#vectors, row * dimension, dimension, length)
      this.#norms[row] = (norm ?? 1) * length
    } else {
      this.#forms ??= new Uint8Array(this.#rowsMax)
      this.#forms[row] = norm === undefined ? vectorForm.given : vectorForm.givenWithNorm
      this.#norms[row] = norm ?? length
    }
  }

  finish(): DenseColumn {
    const rows = this.#positions.length
    const whole = rows === this.#rowsMax
    return {
      field: this.#position,
      objects: Uint32Array.from(this.#positions),
      vectors: whole ? this.#vectors : this.#vectors.subarray(0, rows * this.field.params.dimension),
      norms: whole ? this.#norms : this.#norms.slice(0, rows),
      ...(this.#forms && { forms: whole ? this.#forms : this.#forms.slice(0, rows) }),
    }
  }
}

export class SparseParser implements ColumnParser {
  recordBytes = 0
  readonly field: SparseFieldSchema
  readonly #position: number
  readonly #positions: number[] = []
  readonly #terms: SparseTerms[] = []

  constructor(field: SparseFieldSchema, position: number) {
    this.field = field
    this.#position = position
  }

  get count(): number {
    return this.#positions.length
  }

  add(value: FieldValue, position: number, path: string): number {
    if (typeof value !== 'object' || value === null || !('indices' in value)) {
      throw new EngineError('invalid_argument', `${path} must be { indices, values }, got ${printed(value)}`, {
        field: path,
        value: shownValue(value),
      })
    }
    const terms = parseSparse(value as SparseVector, this.field, path)
    this.#positions.push(position)
    this.#terms.push(terms)
    this.recordBytes = sparseRecordBytes(terms.indices.length)
    return terms.indices.length * 8
  }

  async finish(slice: TimeSlice): Promise<SparseColumn> {
    const counts = Uint32Array.from(this.#terms, (terms) => terms.indices.length)
    const total = counts.reduce((sum, count) => sum + count, 0)
    const indices = new Uint32Array(total)
    const values = new Float32Array(total)
    let offset = 0
    for (const terms of this.#terms) {
      indices.set(terms.indices, offset)
      values.set(terms.values, offset)
      offset += terms.indices.length
      if (slice.isOver) await slice.renew()
    }
    return { field: this.#position, objects: Uint32Array.from(this.#positions), counts, indices, values }
  }
}

export class TextParser implements ColumnParser {
  recordBytes = 0
  readonly field: TextFieldSchema
  readonly #position: number
  readonly #positions: number[] = []
  readonly #texts: string[] = []
  readonly #counted: CountedText[] = []

  constructor(field: TextFieldSchema, position: number) {
    this.field = field
    this.#position = position
  }

  get count(): number {
    return this.#positions.length
  }

  add(value: unknown, position: number, path: string): number {
    const bytes = checkText(value, path)
    const counted = countTerms(value as string, this.field.params)
    if (counted.terms.length > textTermsMax) {
      const message = `${path} has ${counted.terms.length} different terms, at most ${textTermsMax} are allowed`
      throw new EngineError('limit_exceeded', message, {
        field: path,
        value: counted.terms.length,
        limit: textTermsMax,
      })
    }
    this.#positions.push(position)
    this.#texts.push(value as string)
    this.#counted.push(counted)
    this.recordBytes = textRecordBytes(counted.terms.length, bytes)
    return bytes
  }

  finish(): TextColumn {
    // The replica of this process needs the same terms when it applies the event.
    keepCounts(this.#texts, this.#counted, this.field.params)
    return { field: this.#position, objects: Uint32Array.from(this.#positions), texts: this.#texts }
  }
}

/** Returns its bytes. Throws invalid_argument or limit_exceeded. */
function checkText(value: unknown, path: string): number {
  if (typeof value !== 'string') {
    const message = `${path} must be a text, got ${printed(value)}`
    throw new EngineError('invalid_argument', message, { field: path, value: shownValue(value) })
  }
  // Before anything is allocated for it: each unit of a text takes at least one byte.
  const bytes = value.length > textBytesMax ? value.length : Buffer.byteLength(value)
  if (bytes > textBytesMax) {
    const message = `${path} has ${bytes} bytes or more, at most ${textBytesMax} are allowed; split the text`
    throw new EngineError('limit_exceeded', message, { field: path, value: bytes, limit: textBytesMax })
  }
  if (!value.isWellFormed()) {
    const message = `${path} is not well-formed: it has half of a surrogate pair`
    throw new EngineError('invalid_argument', message, { field: path })
  }
  return bytes
}

export class MultiParser implements ColumnParser {
  readonly recordBytes = 0
  readonly field: MultiFieldSchema
  readonly #position: number
  readonly #positions: number[] = []
  readonly #members: Float32Array[] = []

  constructor(field: MultiFieldSchema, position: number) {
    this.field = field
    this.#position = position
  }

  get count(): number {
    return this.#positions.length
  }

  add(value: FieldValue, position: number, path: string): number {
    const rows = parseMembers(value, this.field.params, path, membersMax)
    this.#positions.push(position)
    this.#members.push(rows)
    return rows.byteLength
  }

  async finish(slice: TimeSlice): Promise<MultiColumn> {
    const { dimension } = this.field.params
    const counts = Uint32Array.from(this.#members, ({ length }) => length / dimension)
    const vectors = new Float32Array(this.#members.reduce((sum, { length }) => sum + length, 0))
    let offset = 0
    for (const rows of this.#members) {
      for (let index = 0; index < rows.length; index += copiedFloats) {
        vectors.set(rows.subarray(index, index + copiedFloats), offset + index)
        if (slice.isOver) await slice.renew()
      }
      offset += rows.length
    }
    return { field: this.#position, objects: Uint32Array.from(this.#positions), counts, vectors }
  }
}

/** A vector alone, or with its original norm. */
function splitNorm(value: FieldValue, path: string): { vector: ArrayLike<number>; norm: number | undefined } {
  if (isArrayLike(value)) return { vector: value as ArrayLike<number>, norm: undefined }
  if (typeof value === 'object' && value !== null && 'vector' in value && isArrayLike(value.vector)) {
    const { vector, norm } = value
    if (typeof norm === 'number' && Number.isFinite(Math.fround(norm)) && norm >= 0) return { vector, norm }
    throw new EngineError(
      'invalid_argument',
      `${path}.norm is ${printed(norm)}, but it must be a finite number of at least 0`,
      {
        field: `${path}.norm`,
        value: shownValue(norm),
      },
    )
  }
  throw new EngineError('invalid_argument', `${path} must be an array of numbers, got ${printed(value)}`, {
    field: path,
    value: shownValue(value),
  })
}
