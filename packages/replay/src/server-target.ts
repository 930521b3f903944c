// A running server as a target, used like any client would. It creates the collections of the trace's `default` database under names
// that must be unused.
import type { Client, Collection, FieldDefinition, ObjectInput, ObjectPatch } from '@annal/client'
import { decodeMeta, type FieldSchema, type SearchRequest } from '@annal/engine'
import {
  type Event,
  filterIn,
  givenVector,
  type ObjectsPatched,
  type ObjectsRestored,
  type ObjectsUpserted,
  splitText,
  vectorForm,
} from '@annal/engine/events'
import type { ReplayTarget } from './target.ts'

const defaultDatabaseId = 1

interface Known {
  readonly collection: Collection
  readonly fields: readonly FieldSchema[]
}

/** A running server that a trace is replayed against, in the database of the client. `name` is its name in reports. */
export function serverTarget(client: Client, name: string): ReplayTarget {
  return new ServerTarget(client, name)
}

class ServerTarget implements ReplayTarget {
  readonly name: string
  readonly #client: Client
  readonly #known = new Map<number, Known>()
  /** The last change of each collection, because only waiting preserves the order over HTTP. */
  readonly #tails = new Map<number, Promise<void>>()

  constructor(client: Client, name: string) {
    this.#client = client
    this.name = `server ${name}`
  }

  apply(event: Event): Promise<void> {
    if (event.kind === 'collection-promoted') return this.#promote(event)
    if (!('collectionId' in event)) return Promise.resolve()
    const done = (this.#tails.get(event.collectionId) ?? Promise.resolve()).then(() => this.#change(event))
    this.#tails.set(
      event.collectionId,
      done.catch(() => undefined),
    )
    return done
  }

  /** Changes the names as the log did, so that later collections find them free. Aliases are left out: nothing of a trace goes through them. */
  async #promote({ promotedId, replacedId, keptAs }: Extract<Event, { kind: 'collection-promoted' }>): Promise<void> {
    await Promise.all([this.#tails.get(promotedId), this.#tails.get(replacedId)])
    const [promoted, replaced] = [this.#known.get(promotedId), this.#known.get(replacedId)]
    if (promoted === undefined || replaced === undefined) return
    const collection = await promoted.collection.promote({ over: replaced.collection.name, keepAs: keptAs })
    this.#known.set(promotedId, { ...promoted, collection })
    this.#known.set(replacedId, { ...replaced, collection: this.#client.collection(keptAs) })
  }

  async #change(event: Extract<Event, { collectionId: number }>): Promise<void> {
    if (event.kind === 'collection-created') {
      if (event.databaseId !== defaultDatabaseId) return
      const collection = await this.#client.createCollection({
        name: event.name,
        fields: event.fields.map(fieldRequest),
      })
      this.#known.set(event.collectionId, { collection, fields: event.fields })
      return
    }
    const known = this.#known.get(event.collectionId)
    if (known === undefined) return
    const { collection } = known
    switch (event.kind) {
      case 'collection-dropped':
        this.#known.delete(event.collectionId)
        return this.#client.deleteCollection(collection.name)
      case 'objects-upserted':
        await collection.upsert(recordsOf(event, known.fields))
        return
      case 'objects-restored':
        if (event.ids.length > 0) await collection.upsert(recordsOf(event, known.fields))
        for (const id of event.deleted) await collection.delete(id)
        return
      case 'objects-deleted':
      case 'objects-expired':
        for (const id of event.ids) await collection.delete(id)
        return
      case 'filters-replaced':
        await collection.updateFilters(
          event.ids.map((id, i) => ({ id, filter: JSON.parse(filterIn(event.filters[i] as string) || '{}') })),
        )
        return
      case 'objects-patched':
        await collection.patch(await patchesOf(event, collection))
        return
      case 'fields-changed':
        await collection.updateFields(
          Object.fromEntries(
            event.fields.flatMap(({ name, kind, params }) =>
              kind === 'dense' ? [[name, { recall: params.recall ?? null }]] : [],
            ),
          ),
        )
        return
      default:
    }
  }

  async search(
    collectionId: number,
    request: SearchRequest,
  ): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
    const known = this.#known.get(collectionId)
    if (known === undefined) return undefined
    const { results, fused } = await known.collection.search(request)
    const lists = new Map(Object.entries(results).map(([field, hits]) => [field, hits.map(({ id }) => id)]))
    if (fused)
      lists.set(
        'fused',
        fused.map(({ hit }) => hit.id),
      )
    return lists
  }

  async memory(): Promise<undefined> {
    return undefined
  }

  takeCheckpointMs(): number {
    return 0
  }

  digests(): Readonly<Record<string, string>> {
    return {}
  }

  async restart(): Promise<undefined> {
    return undefined
  }

  async close(): Promise<void> {
    return undefined
  }
}

function fieldRequest(field: FieldSchema): FieldDefinition {
  if (field.kind === 'sparse') return { name: field.name, type: 'sparse', params: { model: field.params.model } }
  if (field.kind === 'text') return { name: field.name, type: 'text', params: field.params }
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals, recall } = field.params
  const params = { dimension, spaceType, precision, M, efConstruction, keepOriginals }
  if (field.kind === 'multi')
    return { name: field.name, type: 'multi_vector', params: { ...params, pooling: field.params.pooling } }
  return { name: field.name, type: 'vector', params: { ...params, recall } }
}

function expiryIn(text: string): Pick<ObjectInput, 'expiresAt'> {
  const { expiresAt } = splitText(text)
  return expiresAt === undefined ? {} : { expiresAt }
}

/** Patches that lead to the meta and filter of the event, by merging. */
async function patchesOf(event: ObjectsPatched, collection: Collection): Promise<ObjectPatch[]> {
  const stored = new Map((await collection.getMany(event.ids)).map((object) => [object.id, object]))
  return event.ids.map((id, i) => {
    const meta = decodeMeta(event.metas[i] as Uint8Array) ?? {}
    const { filter: text, expiresAt = null } = splitText(event.filters[i] ?? '')
    const filter = JSON.parse(text || '{}')
    return {
      id,
      expiresAt,
      meta: replacing(stored.get(id)?.meta, meta),
      filter: replacing(stored.get(id)?.filter, filter),
    }
  })
}

/** Null for each key that goes. */
function replacing<T extends object>(before: object | undefined, after: T): T {
  return { ...Object.fromEntries(Object.keys(before ?? {}).map((key) => [key, null])), ...after }
}

function recordsOf(event: ObjectsUpserted | ObjectsRestored, fields: readonly FieldSchema[]): ObjectInput[] {
  const values: Record<string, ObjectInput['fields'][string]>[] = event.ids.map(() => ({}))
  const put = (object: number, field: number, value: ObjectInput['fields'][string]) => {
    const [place, name] = [values[object], fields[field]?.name]
    if (place !== undefined && name !== undefined) place[name] = value
  }
  for (const { field, objects, vectors, norms, forms } of event.dense) {
    const definition = fields[field]
    const length = vectors.length / objects.length
    const isCosine = definition?.kind === 'dense' && definition.params.spaceType === 'cosine'
    objects.forEach((object, i) => {
      const row = vectors.subarray(i * length, (i + 1) * length)
      put(object, field, isCosine ? givenVector(row, norms[i] as number, forms?.[i] ?? vectorForm.unit) : row)
    })
  }
  for (const { field, objects, counts, indices, values: weights } of event.sparse) {
    let offset = 0
    objects.forEach((object, i) => {
      const end = offset + (counts[i] as number)
      put(object, field, { indices: indices.slice(offset, end), values: weights.slice(offset, end) })
      offset = end
    })
  }
  for (const { field, objects, counts, vectors } of event.multi) {
    const members = counts.reduce((sum, count) => sum + count, 0)
    const length = vectors.length / members
    let offset = 0
    objects.forEach((object, i) => {
      const from = offset
      const rows = Array.from({ length: counts[i] as number }, (_, member) =>
        vectors.slice(from + member * length, from + (member + 1) * length),
      )
      offset += rows.length * length
      put(object, field, rows)
    })
  }
  return event.ids.map((id, i) => ({
    id,
    meta: event.metas[i] as Uint8Array,
    filter: JSON.parse(filterIn(event.filters[i] as string) || '{}'),
    ...expiryIn(event.filters[i] as string),
    fields: values[i] as ObjectInput['fields'],
  }))
}
