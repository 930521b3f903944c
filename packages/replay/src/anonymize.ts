// Removes personal data from a trace: ids, names, keys and texts become tokens, control-plane events are left out, and vectors can be
// transformed by a secret rotation. Numbers and booleans stay; dates move by a secret number of days, so that ranges over them still
// match. The secret is discarded.
import { randomBytes } from 'node:crypto'
import {
  type FieldSchema,
  type FilterCondition,
  hasLists,
  type JsonObject,
  type JsonValue,
  type SearchRequest,
} from '@annal/engine'
import {
  type DenseColumn,
  type Event,
  type MultiColumn,
  type ObjectsRestored,
  type ObjectsUpserted,
  splitText,
  storedText,
} from '@annal/engine/events'
import { Rotation } from './rotation.ts'
import { Tokens } from './tokens.ts'
import type { TraceEntry } from './trace.ts'

/** What is made unreadable in addition to ids, names, and texts. */
export interface AnonymizeOptions {
  /** Rotates every dense vector. Precision `binary` keeps only signs, which a rotation changes, so its recall may differ. */
  readonly rotate: boolean
}

interface Known {
  readonly fields: readonly FieldSchema[]
}

export class Anonymizer {
  readonly #rotate: boolean
  readonly #secret = randomBytes(32)
  readonly #tokens = new Tokens(this.#secret)
  readonly #days = 1_000 + (new DataView(this.#secret.buffer, this.#secret.byteOffset).getUint16(0) % 9_000)
  readonly #rotations = new Map<number, Rotation>()
  /** The original collections by number, because queries name their fields. */
  readonly #collections = new Map<number, Known>()

  constructor({ rotate }: AnonymizeOptions) {
    this.#rotate = rotate
  }

  /** Undefined for entries that are left out. */
  entry(entry: TraceEntry): TraceEntry | undefined {
    if (entry.kind === 'query') {
      const fields = this.#collections.get(entry.collectionId)?.fields
      return fields && { ...entry, request: this.#request(entry.request, fields) }
    }
    const event = this.#event(entry.event)
    return event && { ...entry, event }
  }

  #event(event: Event): Event | undefined {
    switch (event.kind) {
      case 'collection-created': {
        this.#collections.set(event.collectionId, event)
        return { ...event, name: this.#name(event.name), fields: event.fields.map((field) => this.#field(field)) }
      }
      case 'collection-rebuilt':
      case 'fields-changed':
        return { ...event, fields: event.fields.map((field) => this.#field(field)) }
      case 'objects-upserted':
        return this.#upsert(event)
      case 'objects-restored':
        return { ...this.#upsert(event), deleted: event.deleted.map((id) => this.#tokens.of(id)) }
      case 'objects-deleted':
      case 'objects-expired':
        return { ...event, ids: event.ids.map((id) => this.#tokens.of(id)) }
      case 'objects-patched':
        return {
          ...event,
          ids: event.ids.map((id) => this.#tokens.of(id)),
          metas: event.metas.map((meta) => this.#meta(meta)),
          filters: event.filters.map((text) => this.#text(text)),
        }
      case 'filters-replaced':
        return {
          ...event,
          ids: event.ids.map((id) => this.#tokens.of(id)),
          filters: event.filters.map((text) => this.#text(text)),
        }
      case 'database-created': {
        const { token: _, ...rest } = event
        return { ...rest, name: this.#name(event.name) }
      }
      // Names of collections and aliases exclude each other, so a change of them has to stay.
      case 'alias-put':
      case 'alias-dropped':
        return { ...event, name: this.#name(event.name) }
      case 'collection-promoted':
        return { ...event, keptAs: this.#name(event.keptAs) }
      case 'database-dropped':
      case 'collection-dropped':
        return event
      default:
        return undefined
    }
  }

  #upsert<E extends ObjectsUpserted | ObjectsRestored>(event: E): E {
    const fields = this.#collections.get(event.collectionId)?.fields ?? []
    const turned = <T extends DenseColumn | MultiColumn>(column: T): T => {
      const field = fields[column.field]
      if (!this.#rotate || field === undefined || hasLists(field)) return column
      return { ...column, vectors: this.#turnedRows(column.vectors, field.params.dimension) }
    }
    return {
      ...event,
      ids: event.ids.map((id) => this.#tokens.of(id)),
      metas: event.metas.map((meta) => this.#meta(meta)),
      filters: event.filters.map((text) => this.#text(text)),
      dense: event.dense.map(turned),
      multi: event.multi.map(turned),
      text: event.text.map((column) => ({ ...column, texts: column.texts.map((text) => this.#words(text)) })),
    }
  }

  /** Each word becomes a token, the same word the same one; what stands between words stays. */
  #words(text: string): string {
    return text.replaceAll(/[\p{L}\p{N}\p{M}]+/gu, (word) => this.#tokens.of(word.toLowerCase()))
  }

  #clause(clause: unknown): unknown {
    if (typeof clause === 'string') return this.#words(clause)
    if (typeof clause !== 'object' || clause === null) return clause
    const turned = Object.entries(clause).map(([key, value]) => [
      key,
      typeof value === 'string' && key !== 'operator' ? this.#words(value) : value,
    ])
    return Object.fromEntries(turned)
  }

  #textQuery(query: unknown): SearchRequest['fields'][string]['query'] {
    if (typeof query === 'string') return this.#words(query)
    const parts = Object.entries(query as object).map(([key, clauses]) => [
      key,
      Array.isArray(clauses) ? clauses.map((clause) => this.#clause(clause)) : clauses,
    ])
    return Object.fromEntries(parts)
  }

  #field<T extends FieldSchema>(field: T): T {
    return { ...field, name: this.#name(field.name) }
  }

  /** Names have their own rules, which every token follows: letters, digits and underscores. */
  #name(name: string): string {
    return this.#tokens.of(name)
  }

  #text(text: string): string {
    const { filter, expiresAt } = splitText(text)
    const anonymous = filter === '' ? '' : JSON.stringify(this.#value(JSON.parse(filter)))
    return storedText(anonymous, expiresAt)
  }

  /** Meta may be compressed or not JSON; then only its length is kept. */
  #meta(meta: Uint8Array): Uint8Array {
    if (meta.length === 0) return meta
    try {
      return Buffer.from(JSON.stringify(this.#value(JSON.parse(Buffer.from(meta).toString()))))
    } catch {
      return Buffer.from(JSON.stringify({ text: '' }).padEnd(meta.length))
    }
  }

  #value(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.#shifted(value) ?? this.#tokens.of(value)
    if (Array.isArray(value)) return value.map((inner: JsonValue) => this.#value(inner))
    if (typeof value !== 'object' || value === null) return value
    // Arrays were handled above; the type checker does not infer that for read-only ones.
    return this.#object(value as JsonObject)
  }

  /** Operators are not user data. */
  #object(value: JsonObject): JsonObject {
    const replaced = Object.entries(value).map(([key, inner]) => [
      key.startsWith('$') ? key : this.#tokens.of(key),
      this.#value(inner as JsonValue),
    ])
    return Object.fromEntries(replaced) as JsonObject
  }

  /** A date, with or without a time, a few thousand days earlier; undefined for any other text. */
  #shifted(text: string): string | undefined {
    const found = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.exec(text)
    const timeMs = found ? Date.parse(found[1] as string) : Number.NaN
    if (!found || Number.isNaN(timeMs)) return undefined
    return new Date(timeMs - this.#days * 86_400_000).toISOString().slice(0, 10) + (found[2] ?? '')
  }

  #request(request: SearchRequest, fields: readonly FieldSchema[]): SearchRequest {
    const queries = Object.entries(request.fields).map(([name, { query, ...rest }]) => {
      const field = fields.find((candidate) => candidate.name === name)
      return [this.#name(name), { ...rest, query: field === undefined ? query : this.#query(query, field) }]
    })
    const { fusion, groupBy } = request
    const weights = Object.entries(fusion?.weights ?? {}).map(([name, weight]) => [this.#name(name), weight])
    return {
      ...request,
      fields: Object.fromEntries(queries) as SearchRequest['fields'],
      ...(request.filter && { filter: request.filter.map((condition) => this.#condition(condition)) }),
      ...(groupBy && { groupBy: { ...groupBy, key: this.#tokens.of(groupBy.key) } }),
      ...(fusion && { fusion: { ...fusion, ...(fusion.weights && { weights: Object.fromEntries(weights) }) } }),
    }
  }

  #condition(condition: FilterCondition): FilterCondition {
    // Only values change; the shape of the condition stays.
    return this.#object(condition as unknown as JsonObject) as unknown as FilterCondition
  }

  #query(query: unknown, field: FieldSchema): SearchRequest['fields'][string]['query'] {
    if (typeof query === 'object' && query !== null && 'id' in query) return { id: this.#tokens.of(String(query.id)) }
    if (field.kind === 'text') return this.#textQuery(query)
    if (hasLists(field) || !this.#rotate) return query as SearchRequest['fields'][string]['query']
    const rows = query as ArrayLike<number> | ArrayLike<ArrayLike<number>>
    const turn = (row: ArrayLike<number>) => this.#turnedRows(Float32Array.from(row), field.params.dimension)
    const isOne = typeof rows[0] === 'number'
    // One vector or several; the caller has checked which.
    return isOne ? turn(rows as ArrayLike<number>) : Array.from(rows as ArrayLike<ArrayLike<number>>, turn)
  }

  #turnedRows(vectors: Float32Array, dimension: number): Float32Array {
    let rotation = this.#rotations.get(dimension)
    if (rotation === undefined) {
      rotation = new Rotation(this.#secret, dimension)
      this.#rotations.set(dimension, rotation)
    }
    const turned = Float32Array.from(vectors)
    for (let offset = 0; offset < turned.length; offset += dimension)
      rotation.turn(turned.subarray(offset, offset + dimension))
    return turned
  }
}
