// Checks objects one after another and writes them as the columns of one ObjectsUpserted event. An object may be
// released once it is added, because only the event's data is kept.
import { payloadBytesMax, TimeSlice, WalError } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { parseNewFilterValues } from '../filter/values.ts'
import { type Limits, objectTermBytes, objectTermsBytesMax } from '../limits.ts'
import type { DenseColumn, MultiColumn, SparseColumn, TextColumn } from '../model/event.ts'
import { parseId, printed, shownValue } from '../model/ids.ts'
import type { ObjectInput } from '../model/object.ts'
import type { CollectionSchema } from '../model/schema.ts'
import { type ColumnParser, DenseParser, MultiParser, SparseParser, TextParser } from './columns.ts'
import { type ObjectConditions, parseConditions } from './conditions.ts'
import { type GivenExpiry, parseExpiry } from './expiry.ts'
import { parseMeta } from './meta.ts'

/** The result of parsing an upsert: the content of the event, and what the filter index needs for it. */
export interface ParsedObjects {
  readonly columns: ObjectColumns
  readonly filters: FilterNeeds
  /** By position of the object; undefined if none has conditions. */
  readonly conditions: readonly (ObjectConditions | undefined)[] | undefined
  /** By position of the object; undefined if none says when it expires. */
  readonly expiries: readonly (GivenExpiry | undefined)[] | undefined
}

export interface ObjectColumns {
  readonly ids: readonly string[]
  readonly metas: readonly Uint8Array[]
  readonly filters: readonly string[]
  readonly dense: readonly DenseColumn[]
  readonly sparse: readonly SparseColumn[]
  readonly multi: readonly MultiColumn[]
  readonly text: readonly TextColumn[]
}

/** Objects of one upsert: all at once, which are read in the turn of the call, or one after another, in as many turns as they need. */
export type ObjectsInput = readonly ObjectInput[] | AsyncIterable<ObjectInput>

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
      value: shownValue(objects),
    })
  }
  if (objects.length > limits.batchMax) throw tooManyObjects(objects.length, limits.batchMax)
  const parser = new ObjectParser(definition, limits, { count: objects.length })
  // In one turn, because the caller may change its list and its objects in the next.
  for (const object of objects) parser.add(object)
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

class ObjectParser {
  readonly #limits: Limits
  readonly #dense: DenseParser[] = []
  readonly #sparse: SparseParser[] = []
  readonly #multi: MultiParser[] = []
  readonly #text: TextParser[] = []
  readonly #columns: ReadonlyMap<string, ColumnParser>
  readonly #positions = new Map<string, number>()
  readonly #ids: string[] = []
  readonly #metas: Uint8Array[] = []
  readonly #filters: string[] = []
  readonly #needs = new FilterNeeds()
  readonly #conditions: (ObjectConditions | undefined)[] = []
  #hasConditions = false
  readonly #expiries: (GivenExpiry | undefined)[] = []
  #hasExpiries = false
  /** A lower bound of the event's size. */
  #bytes = 0

  /** `count` is the maximum number of objects. */
  constructor(definition: CollectionSchema, limits: Limits, { count }: { readonly count: number }) {
    this.#limits = limits
    const columns = definition.fields.map((field, index): ColumnParser => {
      if (field.kind === 'dense') return last(this.#dense, new DenseParser(field, index, count))
      if (field.kind === 'sparse') return last(this.#sparse, new SparseParser(field, index))
      if (field.kind === 'text') return last(this.#text, new TextParser(field, index))
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
    const conditions = parseConditions(object, path)
    this.#conditions.push(conditions)
    this.#hasConditions ||= conditions !== undefined
    const expiry = parseExpiry(object, path)
    this.#expiries.push(expiry)
    this.#hasExpiries ||= expiry !== undefined
    this.#bytes += id.length
    this.#addFields(object.fields, position, `${path}.fields`)
    const meta = parseMeta(object.meta, `${path}.meta`)
    this.#metas.push(meta)
    const filter = this.#filterText(object.filter, `${path}.filter`)
    this.#filters.push(filter)
    this.#bytes += meta.length + filter.length
    this.#checkBytes()
  }

  #addFields(fields: ObjectInput['fields'], position: number, path: string): void {
    const given = fields === null || typeof fields !== 'object' ? [] : Object.keys(fields)
    if (given.length === 0) {
      throw new EngineError('invalid_argument', `${path} must have a value for at least one field`, { field: path })
    }
    let recordBytes = 0
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
      recordBytes += column.recordBytes
      if (recordBytes > objectTermsBytesMax) throw tooManyTerms(path, recordBytes)
    }
  }

  #filterText(filter: ObjectInput['filter'], path: string): string {
    if (filter === undefined || filter === '') return ''
    const { text, values } = parseNewFilterValues(filter, path)
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
    const text = this.#text.filter(({ count }) => count > 0).map((column) => column.finish())
    return {
      columns: { ids: this.#ids, metas: this.#metas, filters: this.#filters, dense, sparse, multi, text },
      filters: this.#needs,
      conditions: this.#hasConditions ? this.#conditions : undefined,
      expiries: this.#hasExpiries ? this.#expiries : undefined,
    }
  }
}

function tooManyTerms(path: string, bytes: number): EngineError {
  const message = `${path} has texts and terms of ${bytes} bytes, ${objectTermBytes} for each term; at most ${objectTermsBytesMax} are allowed in one object`
  return new EngineError('limit_exceeded', message, { field: path, value: bytes, limit: objectTermsBytesMax })
}

function last<T>(list: T[], added: T): T {
  list.push(added)
  return added
}
