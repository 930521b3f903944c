// Imports from Qdrant over its REST interface: `qdrant://host:6333/collection`, `qdrants://` for TLS. Points are read in the order of
// their ids, page by page; a position is the first id of the next page. The payload of a point becomes meta and filter values.
import type { FieldValue, JsonObject, JsonValue, ObjectInput, SpaceType } from '@annal/client'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import { fieldValue } from '../formats/field-value.ts'
import type { DatabaseOptions } from './database-options.ts'
import { keysOf, metaAndFilter } from './payload.ts'
import { listAt, objectAt, restOf } from './rest.ts'
import type { Source, SourceField } from './source.ts'

const pointsOfPage = 250

const spaces: { readonly [distance: string]: SpaceType } = { Cosine: 'cosine', Euclid: 'l2', Dot: 'ip' }

export async function openQdrant(url: URL, { field, filterKeys, sourceToken }: DatabaseOptions): Promise<Source> {
  const collection = decodeURIComponent(url.pathname.slice(1))
  if (collection === '')
    throw usageError(`${url.href}: the collection is missing; use ${url.protocol}//${url.host}/COLLECTION`)
  const scheme = url.protocol === 'qdrants:' ? 'https' : 'http'
  const rest = restOf({
    base: `${scheme}://${url.hostname}:${url.port || '6333'}/collections/${encodeURIComponent(collection)}`,
    headers: sourceToken === undefined ? {} : { 'api-key': sourceToken },
  })
  const described = objectAt(await rest.ask(''), 'result')
  const name = `${url.protocol}//${url.host}/${collection}`
  const total = described?.points_count
  return {
    name,
    total: typeof total === 'number' ? total : undefined,
    fields: fieldsOf(objectAt(described, 'config', 'params'), field),
    async *pieces(from) {
      const keys = keysOf(filterKeys)
      let offset: JsonValue = from ?? null
      do {
        const page = objectAt(await rest.ask('/points/scroll', scrollBody(offset)), 'result')
        const points = listAt(page, 'points')
        if (points === undefined) throw new CommandEnd(exitCode.refused, `${name} sent a scroll reply without points`)
        offset = page?.next_page_offset ?? null
        yield { objects: points.map((point) => objectOf(point, field, keys, name)), next: offset }
      } while (offset !== null)
    },
  }
}

/** A 64-bit offset is kept as text and sent as a number. */
function scrollBody(offset: JsonValue): string {
  const offsetText = typeof offset === 'string' && /^\d+$/.test(offset) ? offset : JSON.stringify(offset)
  return `{"limit":${pointsOfPage},"offset":${offsetText},"with_payload":true,"with_vector":true}`
}

/** One vector without a name, or several with names; sparse vectors always have names. */
function fieldsOf(params: JsonObject | undefined, field: string): readonly SourceField[] {
  const vectors = objectAt(params, 'vectors') ?? {}
  const named: readonly [string, JsonValue][] =
    typeof vectors.size === 'number' ? [[field, vectors]] : Object.entries(vectors)
  const dense = named.map(([name, vector]): SourceField => {
    const { size, distance, multivector_config: multi } = objectAt(vector) ?? {}
    const type = multi == null ? 'vector' : 'multi_vector'
    return { name, type, dimension: Number(size), space: spaces[String(distance)] }
  })
  const sparse = Object.keys(objectAt(params, 'sparse_vectors') ?? {})
  return [...dense, ...sparse.map((name): SourceField => ({ name, type: 'sparse' }))]
}

function objectOf(point: JsonValue, field: string, keys: readonly string[] | undefined, name: string): ObjectInput {
  const { id, vector, payload } = objectAt(point) ?? {}
  const where = `${name}, point ${id}`
  return {
    id: String(id),
    ...metaAndFilter(objectAt(payload) ?? {}, keys),
    fields: fieldsOfPoint(vector, field, where),
  }
}

function fieldsOfPoint(
  vector: JsonValue | undefined,
  field: string,
  where: string,
): { readonly [name: string]: FieldValue } {
  if (vector === undefined || vector === null) return {}
  const named: readonly [string, JsonValue][] = Array.isArray(vector) ? [[field, vector]] : Object.entries(vector)
  return Object.fromEntries(named.map(([name, value]) => [name, fieldValue(value, `${where}, vector ${name}`)]))
}
