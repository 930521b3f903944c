// Imports from Chroma over version 2 of its REST interface: `chroma://host:8000/collection?tenant=T&database=D`, `chromas://` for TLS.
// A position is the number of records before it, so nothing should write to the collection during the import. Metadata becomes meta and
// filter values; the document becomes a key of meta.
import type { JsonObject, JsonValue, ObjectInput, SpaceType } from '@annal/client'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import { fieldValue } from '../formats/field-value.ts'
import type { DatabaseOptions } from './database-options.ts'
import { keysOf, metaAndFilter } from './payload.ts'
import { listAt, objectAt, type Rest, restOf } from './rest.ts'
import type { Source, SourceField } from './source.ts'

const recordsOfPage = 250
const include = ['embeddings', 'documents', 'metadatas', 'uris']

export async function openChroma(url: URL, options: DatabaseOptions): Promise<Source> {
  const collection = decodeURIComponent(url.pathname.slice(1))
  if (collection === '')
    throw usageError(`${url.href}: the collection is missing; use ${url.protocol}//${url.host}/COLLECTION`)
  const tenant = url.searchParams.get('tenant') ?? 'default_tenant'
  const database = url.searchParams.get('database') ?? 'default_database'
  const scheme = url.protocol === 'chromas:' ? 'https' : 'http'
  const path = `tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`
  const rest = restOf({
    base: `${scheme}://${url.hostname}:${url.port || '8000'}/api/v2/${path}`,
    headers: options.sourceToken === undefined ? {} : { 'x-chroma-token': options.sourceToken },
  })
  const described = objectAt(await rest.ask(`/${encodeURIComponent(collection)}`))
  const id = String(described?.id)
  const total = await rest.ask(`/${id}/count`)
  const name = `${url.protocol}//${url.host}/${tenant}/${database}/${collection}`
  return {
    name,
    total: typeof total === 'number' ? total : undefined,
    fields: fieldsOf(described, options.field),
    pieces: (from) => pages({ rest, id, name }, options, typeof from === 'number' ? from : 0),
  }
}

interface Reading {
  readonly rest: Rest
  readonly id: string
  readonly name: string
}

async function* pages({ rest, id, name }: Reading, { field, filterKeys }: DatabaseOptions, from: number) {
  const keys = keysOf(filterKeys)
  for (let offset = from; ; ) {
    const page = await rest.ask(`/${id}/get`, JSON.stringify({ limit: recordsOfPage, offset, include }))
    const ids = listAt(page, 'ids')
    if (ids === undefined) throw new CommandEnd(exitCode.refused, `${name} sent a reply without ids`)
    if (ids.length === 0) return
    const columns = {
      ids,
      embeddings: listAt(page, 'embeddings'),
      documents: listAt(page, 'documents'),
      metadatas: listAt(page, 'metadatas'),
      uris: listAt(page, 'uris'),
    }
    offset += ids.length
    yield { objects: ids.map((_, i) => objectOf(columns, i, { field, keys, name })), next: offset }
  }
}

/** An empty collection has no dimension yet. */
function fieldsOf(described: JsonObject | undefined, name: string): readonly SourceField[] | undefined {
  const dimension = described?.dimension
  if (typeof dimension !== 'number') return undefined
  const configuration = objectAt(described, 'configuration_json')
  const space =
    objectAt(configuration, 'hnsw')?.space ??
    objectAt(configuration, 'spann')?.space ??
    objectAt(described, 'metadata')?.['hnsw:space']
  // Chroma's own default.
  return [{ name, type: 'vector', dimension, space: isSpace(space) ? space : 'l2' }]
}

function isSpace(value: JsonValue | undefined): value is SpaceType {
  return value === 'l2' || value === 'cosine' || value === 'ip'
}

interface Columns {
  readonly ids: readonly JsonValue[]
  readonly embeddings: readonly JsonValue[] | undefined
  readonly documents: readonly JsonValue[] | undefined
  readonly metadatas: readonly JsonValue[] | undefined
  readonly uris: readonly JsonValue[] | undefined
}

function objectOf(
  columns: Columns,
  i: number,
  {
    field,
    keys,
    name,
  }: { readonly field: string; readonly keys: readonly string[] | undefined; readonly name: string },
): ObjectInput {
  const id = String(columns.ids[i])
  const metadata = objectAt(columns.metadatas?.[i]) ?? {}
  const { meta, filter } = metaAndFilter(metadata, keys)
  const besides = {
    ...named('document', columns.documents?.[i], metadata),
    ...named('uri', columns.uris?.[i], metadata),
  }
  const embedding = columns.embeddings?.[i]
  return {
    id,
    meta: { ...(meta as JsonObject | undefined), ...besides },
    filter,
    fields: embedding == null ? {} : { [field]: fieldValue(embedding, `${name}, record ${id}`) },
  }
}

/** Under its own key, unless the metadata already has that key. */
function named(name: string, value: JsonValue | undefined, metadata: JsonObject): JsonObject {
  if (value === undefined || value === null) return {}
  return { [name in metadata ? `chroma:${name}` : name]: value }
}
