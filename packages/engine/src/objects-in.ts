// Checks objects as people give them and lays them out as the columns of one ObjectsUpserted event.
import type {
  CollectionDefinition,
  DenseFieldDefinition,
  MultiFieldDefinition,
  SparseFieldDefinition,
} from './definition.ts'
import { EngineError } from './errors.ts'
import type { DenseColumn, MultiColumn, SparseColumn } from './events/event.ts'
import { parseNewFilterValues } from './filter/values.ts'
import { parseId, printed } from './ids.ts'
import type { JsonObject } from './json.ts'
import { cosineLengthMax, jsonDepthMax, type Limits, membersMax, metaBytesMax } from './limits.ts'
import type { FieldValue, ObjectInput, SparseVector } from './object.ts'
import { checkLength, isArrayLike, parseMembers, parseSparse, putDense, type SparseTerms } from './vectors-in.ts'

/** Everything an upsert needs: what goes into the event, and the filter values once more as values, for reserving room. */
export interface ParsedObjects {
  readonly columns: ObjectColumns
  readonly filterValues: readonly JsonObject[]
}

export interface ObjectColumns {
  readonly ids: readonly string[]
  readonly metas: readonly Uint8Array[]
  readonly filters: readonly string[]
  readonly dense: readonly DenseColumn[]
  readonly sparse: readonly SparseColumn[]
  readonly multi: readonly MultiColumn[]
}

const noMeta = new Uint8Array(0)

/** Throws invalid_argument, limit_exceeded or field_not_found naming the object and what is wrong with it. */
export function parseObjects(
  objects: readonly ObjectInput[],
  definition: CollectionDefinition,
  limits: Limits,
): ParsedObjects {
  if (!Array.isArray(objects)) {
    throw new EngineError('invalid_argument', `objects must be an array, got ${printed(objects)}`, {
      field: 'objects',
      value: printed(objects),
    })
  }
  if (objects.length > limits.batchMax) {
    throw new EngineError(
      'limit_exceeded',
      `objects has ${objects.length} entries, at most ${limits.batchMax} are allowed in one call`,
      {
        field: 'objects',
        value: objects.length,
        limit: limits.batchMax,
      },
    )
  }
  const ids = parseIds(objects)
  checkFieldNames(objects, definition)
  const dense: DenseColumn[] = []
  const sparse: SparseColumn[] = []
  const multi: MultiColumn[] = []
  definition.fields.forEach((field, at) => {
    const having = positionsWith(objects, field.name)
    if (having.length === 0) return
    if (field.kind === 'dense') dense.push(denseColumn(objects, having, field, at))
    else if (field.kind === 'sparse') sparse.push(sparseColumn(objects, having, field, at))
    else multi.push(multiColumn(objects, having, field, at))
  })
  const filters = objects.map(({ filter }) =>
    filter === undefined || filter === '' ? { text: '', values: {} } : parseNewFilterValues(filter),
  )
  const columns = {
    ids,
    metas: objects.map((object, i) => parseMeta(object.meta, `objects[${i}].meta`)),
    filters: filters.map(({ text }) => text),
    dense,
    sparse,
    multi,
  }
  return { columns, filterValues: filters.map(({ values }) => values) }
}

function parseIds(objects: readonly ObjectInput[]): string[] {
  const ids = objects.map((object, i) => parseId(object?.id, `objects[${i}].id`))
  const seen = new Map<string, number>()
  ids.forEach((id, i) => {
    const first = seen.get(id)
    if (first !== undefined) {
      throw new EngineError('invalid_argument', `objects[${first}] and objects[${i}] have the same id ${printed(id)}`, {
        field: `objects[${i}].id`,
        value: id,
      })
    }
    seen.set(id, i)
  })
  return ids
}

function checkFieldNames(objects: readonly ObjectInput[], definition: CollectionDefinition): void {
  const names = new Set(definition.fields.map((field) => field.name))
  objects.forEach((object, i) => {
    const given = object.fields === null || typeof object.fields !== 'object' ? [] : Object.keys(object.fields)
    if (given.length === 0) {
      throw new EngineError('invalid_argument', `objects[${i}].fields must hold a value for at least one field`, {
        field: `objects[${i}].fields`,
      })
    }
    for (const name of given) {
      if (names.has(name)) continue
      throw new EngineError(
        'field_not_found',
        `objects[${i}].fields names ${printed(name)}, the collection has ${[...names].join(', ')}`,
        {
          field: `objects[${i}].fields`,
          value: name,
        },
      )
    }
  })
}

function positionsWith(objects: readonly ObjectInput[], name: string): Uint32Array {
  const positions: number[] = []
  objects.forEach((object, i) => {
    if (Object.hasOwn(object.fields, name) && object.fields[name] !== undefined) positions.push(i)
  })
  return Uint32Array.from(positions)
}

function denseColumn(
  objects: readonly ObjectInput[],
  positions: Uint32Array,
  field: DenseFieldDefinition,
  at: number,
): DenseColumn {
  const { dimension } = field.params
  const vectors = new Float32Array(positions.length * dimension)
  const norms = new Float32Array(positions.length)
  positions.forEach((position, i) => {
    const path = `objects[${position}].fields.${field.name}`
    const value = objects[position]?.fields[field.name] as FieldValue
    const { vector, norm } = splitNorm(value, path)
    const length = putDense(vector, field.params, vectors, i * dimension, path)
    if (norm !== undefined && field.params.spaceType === 'cosine')
      checkLength(norm * length, cosineLengthMax, `${path}.norm`)
    norms[i] = norm === undefined ? length : field.params.spaceType === 'cosine' ? norm * length : norm
  })
  return { field: at, objects: positions, vectors, norms }
}

/** A vector alone, or with the length that was taken out of it. */
function splitNorm(value: FieldValue, path: string): { vector: ArrayLike<number>; norm: number | undefined } {
  if (isArrayLike(value)) return { vector: value as ArrayLike<number>, norm: undefined }
  if (typeof value === 'object' && value !== null && 'vector' in value && isArrayLike(value.vector)) {
    const { vector, norm } = value
    if (typeof norm === 'number' && Number.isFinite(Math.fround(norm)) && norm >= 0) return { vector, norm }
    throw new EngineError(
      'invalid_argument',
      `${path}.norm is ${printed(norm)}, it must be a finite number of at least 0`,
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

function sparseColumn(
  objects: readonly ObjectInput[],
  positions: Uint32Array,
  field: SparseFieldDefinition,
  at: number,
): SparseColumn {
  const terms: SparseTerms[] = []
  positions.forEach((position) => {
    const path = `objects[${position}].fields.${field.name}`
    const value = objects[position]?.fields[field.name]
    if (typeof value !== 'object' || value === null || !('indices' in value)) {
      throw new EngineError('invalid_argument', `${path} must be { indices, values }, got ${printed(value)}`, {
        field: path,
        value: printed(value),
      })
    }
    terms.push(parseSparse(value as SparseVector, field, path))
  })
  const counts = Uint32Array.from(terms, (term) => term.indices.length)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const indices = new Uint32Array(total)
  const values = new Float32Array(total)
  let offset = 0
  for (const term of terms) {
    indices.set(term.indices, offset)
    values.set(term.values, offset)
    offset += term.indices.length
  }
  return { field: at, objects: positions, counts, indices, values }
}

function multiColumn(
  objects: readonly ObjectInput[],
  positions: Uint32Array,
  field: MultiFieldDefinition,
  at: number,
): MultiColumn {
  const members = Array.from(positions, (position) => {
    const path = `objects[${position}].fields.${field.name}`
    return parseMembers(objects[position]?.fields[field.name], field.params, path, membersMax)
  })
  const vectors = new Float32Array(members.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const rows of members) {
    vectors.set(rows, offset)
    offset += rows.length
  }
  const counts = Uint32Array.from(members, ({ length }) => length / field.params.dimension)
  return { field: at, objects: positions, counts, vectors }
}

function parseMeta(meta: unknown, path: string): Uint8Array {
  if (meta === undefined || meta === null) return noMeta
  const bytes = meta instanceof Uint8Array ? meta.slice() : metaText(meta, path)
  if (bytes.length > metaBytesMax) {
    throw new EngineError('limit_exceeded', `${path} has ${bytes.length} bytes, at most ${metaBytesMax} are allowed`, {
      field: path,
      value: bytes.length,
      limit: metaBytesMax,
    })
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

/** Nesting of a value, counted no further than `enough`: a cycle ends there too. */
function depthOf(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null || enough === 0) return 0
  let deepest = 0
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, enough - 1))
  return deepest + 1
}
