// Checks objects one after another and writes them as the columns of one ObjectsUpserted event. An object may be
// released once it is added, because only the event's data is kept.
import { payloadBytesMax, TimeSlice, WalError } from '@annal/wal'
import { EngineError } from '../errors.ts'
import type { DenseColumn, MultiColumn, SparseColumn } from '../events/event.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { parseNewFilterValues } from '../filter/values.ts'
import { cosineLengthMax, jsonDepthMax, type Limits, membersMax, metaBytesMax } from '../limits.ts'
import { parseId, printed } from '../model/ids.ts'
import type { FieldValue, ObjectInput, SparseVector } from '../model/object.ts'
import type {
  CollectionSchema,
  DenseFieldSchema,
  FieldSchema,
  MultiFieldSchema,
  SparseFieldSchema,
} from '../model/schema.ts'
import { isUnitLength, vectorForm } from '../model/vector-form.ts'
import {
  checkLength,
  isArrayLike,
  parseMembers,
  parseSparse,
  putFloats,
  type SparseTerms,
  scaleInPlace,
} from './vectors.ts'

/** The result of parsing an upsert: the content of the event, and what the filter index needs for it. */
export interface ParsedObjects {
  readonly columns: ObjectColumns
  readonly filters: FilterNeeds
}

export interface ObjectColumns {
  readonly ids: readonly string[]
  readonly metas: readonly Uint8Array[]
  readonly filters: readonly string[]
  readonly dense: readonly DenseColumn[]
  readonly sparse: readonly SparseColumn[]
  readonly multi: readonly MultiColumn[]
}

/** Objects of one upsert: all at once, or one after another. */
export type ObjectsInput = readonly ObjectInput[] | AsyncIterable<ObjectInput>

const noMeta = new Uint8Array(0)

/** Throws invalid_argument, limit_exceeded, field_not_found or record_too_large with the object and the fault. */
export async function parseObjects(
  objects: ObjectsInput,
  definition: CollectionSchema,
  limits: Limits,
): Promise<ParsedObjects> {
  const slice = new TimeSlice()
  if (isAsyncIterable(objects)) {
    const parser = new ObjectParser(definition, limits, { count: limits.batchMax })
    for await (const object of objects) {
      parser.add(object)
      if (slice.isOver) await slice.renew()
    }
    return parser.finish(slice)
  }
  if (!Array.isArray(objects)) {
    throw new EngineError('invalid_argument', `objects must be an array, got ${printed(objects)}`, {
      field: 'objects',
      value: printed(objects),
    })
  }
  if (objects.length > limits.batchMax) throw tooManyObjects(objects.length, limits.batchMax)
  const parser = new ObjectParser(definition, limits, { count: objects.length })
  for (const object of objects) {
    parser.add(object)
    if (slice.isOver) await slice.renew()
  }
  return parser.finish(slice)
}

function isAsyncIterable(objects: ObjectsInput): objects is AsyncIterable<ObjectInput> {
  return typeof objects === 'object' && objects !== null && Symbol.asyncIterator in objects
}

function tooManyObjects(count: number, limit: number): EngineError {
  return new EngineError(
    'limit_exceeded',
    `objects has ${count} entries, but at most ${limit} are allowed in one call`,
    {
      field: 'objects',
      value: count,
      limit,
    },
  )
}

/** Builds one column of the event. */
interface ColumnParser {
  readonly field: FieldSchema
  /** Returns the bytes that the value takes in the event. */
  add(value: unknown, position: number, path: string): number
}

class ObjectParser {
  readonly #limits: Limits
  readonly #dense: DenseParser[] = []
  readonly #sparse: SparseParser[] = []
  readonly #multi: MultiParser[] = []
  readonly #columns: ReadonlyMap<string, ColumnParser>
  readonly #positions = new Map<string, number>()
  readonly #ids: string[] = []
  readonly #metas: Uint8Array[] = []
  readonly #filters: string[] = []
  readonly #needs = new FilterNeeds()
  /** A lower bound of the event's size. */
  #bytes = 0

  /** `count` is the maximum number of objects. */
  constructor(definition: CollectionSchema, limits: Limits, { count }: { readonly count: number }) {
    this.#limits = limits
    const columns = definition.fields.map((field, index): ColumnParser => {
      if (field.kind === 'dense') return last(this.#dense, new DenseParser(field, index, count))
      if (field.kind === 'sparse') return last(this.#sparse, new SparseParser(field, index))
      return last(this.#multi, new MultiParser(field, index))
    })
    this.#columns = new Map(columns.map((column) => [column.field.name, column]))
  }

  add(object: ObjectInput): void {
    const position = this.#ids.length
    if (position === this.#limits.batchMax) throw tooManyObjects(position + 1, this.#limits.batchMax)
    const path = `objects[${position}]`
    const id = parseId(object?.id, `${path}.id`)
    const first = this.#positions.get(id)
    if (first !== undefined) {
      throw new EngineError('invalid_argument', `objects[${first}] and ${path} have the same id ${printed(id)}`, {
        field: `${path}.id`,
        value: id,
      })
    }
    this.#positions.set(id, position)
    this.#ids.push(id)
    this.#bytes += id.length
    this.#addFields(object.fields, position, `${path}.fields`)
    const meta = parseMeta(object.meta, `${path}.meta`)
    this.#metas.push(meta)
    const filter = this.#filterText(object.filter)
    this.#filters.push(filter)
    this.#bytes += meta.length + filter.length
    this.#checkBytes()
  }

  #addFields(fields: ObjectInput['fields'], position: number, path: string): void {
    const given = fields === null || typeof fields !== 'object' ? [] : Object.keys(fields)
    if (given.length === 0) {
      throw new EngineError('invalid_argument', `${path} must have a value for at least one field`, { field: path })
    }
    for (const name of given) {
      const column = this.#columns.get(name)
      if (column === undefined) {
        throw new EngineError(
          'field_not_found',
          `${path} names ${printed(name)}, but the collection has ${[...this.#columns.keys()].join(', ')}`,
          { field: path, value: name },
        )
      }
      const value = fields[name]
      if (value === undefined) continue
      this.#bytes += column.add(value, position, `${path}.${name}`)
      this.#checkBytes()
    }
  }

  #filterText(filter: ObjectInput['filter']): string {
    if (filter === undefined || filter === '') return ''
    const { text, values } = parseNewFilterValues(filter)
    this.#needs.add(values)
    return text
  }

  #checkBytes(): void {
    if (this.#bytes <= payloadBytesMax) return
    const message = `the objects take more than ${payloadBytesMax} bytes of the log, the limit of one record`
    throw new WalError('record_too_large', message, { limit: payloadBytesMax })
  }

  async finish(slice: TimeSlice): Promise<ParsedObjects> {
    const [dense, sparse, multi]: [DenseColumn[], SparseColumn[], MultiColumn[]] = [[], [], []]
    for (const column of this.#dense) if (column.count > 0) dense.push(column.finish())
    for (const column of this.#sparse) if (column.count > 0) sparse.push(await column.finish(slice))
    for (const column of this.#multi) if (column.count > 0) multi.push(await column.finish(slice))
    return {
      columns: { ids: this.#ids, metas: this.#metas, filters: this.#filters, dense, sparse, multi },
      filters: this.#needs,
    }
  }
}

function last<T>(list: T[], added: T): T {
  list.push(added)
  return added
}

class DenseParser implements ColumnParser {
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

class SparseParser implements ColumnParser {
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
        value: printed(value),
      })
    }
    const terms = parseSparse(value as SparseVector, this.field, path)
    this.#positions.push(position)
    this.#terms.push(terms)
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

class MultiParser implements ColumnParser {
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

/** Number of vectors copied between two checks of the clock. */
const copiedFloats = 262_144

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
        value: printed(norm),
      },
    )
  }
  throw new EngineError('invalid_argument', `${path} must be an array of numbers, got ${printed(value)}`, {
    field: path,
    value: printed(value),
  })
}

function parseMeta(meta: unknown, path: string): Uint8Array {
  if (meta === undefined || meta === null) return noMeta
  const bytes = meta instanceof Uint8Array ? meta.slice() : metaText(meta, path)
  if (bytes.length > metaBytesMax) {
    throw new EngineError(
      'limit_exceeded',
      `${path} has ${bytes.length} bytes, but at most ${metaBytesMax} are allowed`,
      {
        field: path,
        value: bytes.length,
        limit: metaBytesMax,
      },
    )
  }
  return bytes
}

function metaText(meta: unknown, path: string): Uint8Array {
  if (typeof meta !== 'object' || Array.isArray(meta)) {
    throw new EngineError('invalid_argument', `${path} must be an object or bytes, got ${printed(meta)}`, {
      field: path,
      value: printed(meta),
    })
  }
  if (depthOf(meta, jsonDepthMax + 1) > jsonDepthMax) {
    throw new EngineError('limit_exceeded', `${path} is nested deeper than ${jsonDepthMax}`, {
      field: path,
      limit: jsonDepthMax,
    })
  }
  return Object.keys(meta as object).length === 0 ? noMeta : new TextEncoder().encode(JSON.stringify(meta))
}

/** Depth of nesting, counted no further than `enough`, so a cycle ends there too. */
function depthOf(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null || enough === 0) return 0
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, enough - 1))
  return deepest + 1
}
