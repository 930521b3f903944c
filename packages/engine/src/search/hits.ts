// From ordinals and similarities to what the asker gets: id, meta, filter, norm, and the vector when asked.
import { inflateSync } from 'node:zlib'
import type { DenseParams, SpaceType } from '../definition.ts'
import type { JsonObject } from '../json.ts'
import { metaBytesMax } from '../limits.ts'
import type { DenseRow, StoredObject } from '../object.ts'
import type { SearchHit } from '../query.ts'
import type { Replica } from '../replica/replica.ts'
import type { DenseHits } from '../vector/field.ts'
import type { DenseTask, SparseTask } from './request.ts'

const noBytes = new Uint8Array(0)

export function hitsOf(
  replica: Replica,
  task: DenseTask | SparseTask,
  found: DenseHits,
  { includeVectors, version }: { readonly includeVectors: boolean; readonly version: number },
): SearchHit[] {
  // Where a sparse field found the object its first dense vector is given with it.
  const at = task.kind === 'dense' ? task.at : replica.dense.findIndex((field) => field !== undefined)
  const field = replica.dense[at]
  const definition = replica.definition.fields[at]
  const spaceType = definition?.kind === 'dense' ? definition.params.spaceType : 'ip'
  return Array.from(found.ordinals, (ordinal, i) => {
    const similarity = found.similarities[i] as number
    const stored = new StoredParts(replica, ordinal)
    const has = field?.has(ordinal, version) === true
    const norm = has ? field.norm(ordinal) : 1
    const row = has && includeVectors ? field.row(ordinal) : undefined
    const distance = task.kind === 'dense' && spaceType === 'cosine' ? 1 - similarity : -similarity
    return new Hit(stored, { similarity, distance, norm, row, spaceType })
  })
}

/** The object as it is now, with copies of its rows; undefined for an unknown id. */
export function storedObject(replica: Replica, id: string): StoredObject | undefined {
  const ordinal = replica.objects.find(id)
  return ordinal < 0 ? undefined : storedAt(replica, ordinal)
}

export function storedAt(replica: Replica, ordinal: number): StoredObject {
  const parts = new StoredParts(replica, ordinal)
  const dense: Record<string, DenseRow> = {}
  const sparse: Record<string, { indices: Uint32Array; values: Float32Array }> = {}
  replica.definition.fields.forEach((definition, at) => {
    const field = replica.dense[at]
    // An ordinal used again may still have the row of the object before.
    const row = field?.has(ordinal, replica.version) ? field.row(ordinal) : undefined
    if (definition.kind === 'dense' && field && row)
      dense[definition.name] = denseRow(row, field.norm(ordinal), definition.params)
  })
  for (const { field, indices, values } of replica.objects.sparse(ordinal)) {
    const definition = replica.definition.fields[field]
    if (definition) sparse[definition.name] = { indices, values }
  }
  return new Stored(parts, dense, sparse)
}

function denseRow(row: Float32Array, norm: number, params: DenseParams): DenseRow {
  return { row, norm, vector: scaled(row, norm, params.spaceType) }
}

/** Cosine rows are of unit length; times their norm they are what was given. */
function scaled(row: Float32Array, norm: number, spaceType: SpaceType): Float32Array {
  return spaceType === 'cosine' ? row.map((x) => x * norm) : row
}

/** Id, meta and filter of one ordinal, taken at once and decoded when asked for. */
class StoredParts {
  readonly id: string
  readonly metaBytes: Uint8Array
  readonly filterText: string

  constructor(replica: Replica, ordinal: number) {
    this.id = replica.objects.idAt(ordinal)
    const meta = replica.objects.meta(ordinal)
    // Copied out of shared memory: the record may be freed before the reply is written.
    this.metaBytes = meta.length === 0 ? noBytes : meta.slice()
    this.filterText = replica.objects.filterText(ordinal)
  }

  get meta(): JsonObject | undefined {
    return decodeMeta(this.metaBytes)
  }

  get filter(): JsonObject {
    return this.filterText === '' ? {} : (JSON.parse(this.filterText) as JsonObject)
  }
}

class Hit implements SearchHit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly norm: number
  readonly row: Float32Array | undefined
  readonly #parts: StoredParts
  readonly #spaceType: SpaceType

  constructor(
    parts: StoredParts,
    of: {
      readonly similarity: number
      readonly distance: number
      readonly norm: number
      readonly row: Float32Array | undefined
      readonly spaceType: SpaceType
    },
  ) {
    this.id = parts.id
    this.similarity = of.similarity
    this.distance = of.distance
    this.norm = of.norm
    this.row = of.row
    this.#parts = parts
    this.#spaceType = of.spaceType
  }

  get meta(): JsonObject | undefined {
    return this.#parts.meta
  }

  get metaBytes(): Uint8Array {
    return this.#parts.metaBytes
  }

  get filter(): JsonObject {
    return this.#parts.filter
  }

  get filterText(): string {
    return this.#parts.filterText
  }

  get vector(): Float32Array | undefined {
    return this.row && scaled(this.row, this.norm, this.#spaceType)
  }

  /** What JSON.stringify and console show. */
  toJSON(): Record<string, unknown> {
    const { id, similarity, distance, norm, meta, filter, vector } = this
    return { id, similarity, distance, norm, meta, filter, ...(vector && { vector: [...vector] }) }
  }
}

class Stored implements StoredObject {
  readonly id: string
  readonly dense: StoredObject['dense']
  readonly sparse: StoredObject['sparse']
  readonly #parts: StoredParts

  constructor(parts: StoredParts, dense: StoredObject['dense'], sparse: StoredObject['sparse']) {
    this.id = parts.id
    this.dense = dense
    this.sparse = sparse
    this.#parts = parts
  }

  get meta(): JsonObject | undefined {
    return this.#parts.meta
  }

  get metaBytes(): Uint8Array {
    return this.#parts.metaBytes
  }

  get filter(): JsonObject {
    return this.#parts.filter
  }

  get filterText(): string {
    return this.#parts.filterText
  }

  toJSON(): Record<string, unknown> {
    const { id, meta, filter } = this
    const fields = Object.fromEntries(Object.entries(this.dense).map(([name, { vector }]) => [name, [...vector]]))
    return { id, meta, filter, fields }
  }
}

/** Meta is kept as it came: JSON, JSON packed with zlib (as the published clients send it), or bytes that are neither. */
function decodeMeta(bytes: Uint8Array): JsonObject | undefined {
  const text = bytes[0] === 0x7b ? bytes : bytes[0] === 0x78 ? inflated(bytes) : undefined
  if (text === undefined) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text)) as JsonObject
  } catch {
    // Bytes that only look like JSON are opaque; metaBytes has them.
    return undefined
  }
}

function inflated(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return inflateSync(bytes, { maxOutputLength: 100 * metaBytesMax })
  } catch {
    // Not zlib after all, or a bomb: opaque either way.
    return undefined
  }
}
