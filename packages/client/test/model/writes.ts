// The writes of a life. Each is sent to the server, and changes the model in the same way.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@annal/wal/testing'
import { asInput, type ModelObject, matches } from '../../../engine/test/model/model.ts'
import type { Client, Precision, SpaceType } from '../../src/index.ts'
import * as choose from './choices.ts'
import type { Model } from './memory.ts'
import { newerWrite } from './newer-writes.ts'

export interface Write {
  readonly label: string
  /** Resolves to what the caller learns. */
  send(client: Client): Promise<unknown>
  /** Changes the model, and returns what the caller must learn: a value, or the code of an error. */
  apply(model: Model): unknown
}

const spaceTypes = ['cosine', 'l2', 'ip'] as const satisfies readonly SpaceType[]
const precisions = ['float32', 'int8'] as const satisfies readonly Precision[]

export function chosenWrite(random: Random, model: Model): Write {
  if (random.chance(0.4)) return newerWrite(random, model)
  const target = choose.name(random)
  const kind = random.below(100)
  if (kind < 8) return create(target, choose.chosen(random, spaceTypes), choose.chosen(random, precisions))
  if (kind < 10) return drop(target)
  if (kind < 58) return upsert(target, objectsFor(random))
  if (kind < 72) return remove(target, choose.id(random))
  if (kind < 78) return removeWhere(target, random)
  if (kind < 94) return updateFilters(target, random)
  return kind < 97 ? rebuild(target, 4 + random.below(8)) : vacuum(target)
}

/** A life begins with two collections, of which one has objects. */
export function firstWrites(random: Random): readonly Write[] {
  return [create('a', 'cosine', 'int8'), create('b', 'l2', 'float32'), upsert('a', objectsFor(random))]
}

function create(target: string, spaceType: (typeof spaceTypes)[number], precision: Precision): Write {
  const params = { dimension: 6, spaceType, precision, M: 4, efConstruction: 16 }
  return {
    label: `create ${target} ${spaceType} ${precision}`,
    async send(client) {
      await client.createCollection({
        name: target,
        fields: [
          { name: 'v', type: 'vector', params },
          { name: 'm', type: 'multi_vector', params },
          { name: 's', type: 'sparse' },
          { name: 't', type: 'text' },
        ],
      })
    },
    apply(model) {
      const refused = model.refuseName(target)
      if (refused === undefined) model.add(target, { spaceType, precision, objects: new Map() })
      return refused
    },
  }
}

function drop(target: string): Write {
  return {
    label: `drop ${target}`,
    send: (client) => client.deleteCollection(target),
    apply(model) {
      const name = model.aliases.get(target) ?? target
      if ([...model.aliases.values()].includes(name)) return 'collection_has_aliases'
      return model.delete(name) ? undefined : 'collection_not_found'
    },
  }
}

/** A write to the objects of one collection. */
export function onObjects(
  target: string,
  label: string,
  send: Write['send'],
  apply: (objects: Map<string, ModelObject>) => unknown,
): Write {
  return {
    label: `${label} in ${target}`,
    send,
    apply(model) {
      const collection = model.resolve(target)
      return collection === undefined ? 'collection_not_found' : apply(collection.objects)
    },
  }
}

export type Keyed = readonly (readonly [id: string, object: ModelObject])[]

export function objectsFor(random: Random): Keyed {
  return choose.ids(random, 20).map((id) => [id, choose.object(random)])
}

function upsert(target: string, objects: Keyed): Write {
  const input = objects.map(inputOf)
  return onObjects(
    target,
    `upsert ${objects.map(([id]) => id).join(', ')}`,
    async (client) => (await client.collection(target).upsert(input)).upserted,
    (stored) => {
      for (const [id, object] of objects) stored.set(id, object)
      return objects.length
    },
  )
}

/** The object in the form of the client. */
export function inputOf([id, { vector, members, terms, text, meta, filter }]: Keyed[number]) {
  return {
    ...{ id, meta, filter },
    fields: {
      v: vector,
      ...(members.length > 0 && { m: members }),
      ...(terms.length > 0 && { s: sparseOf(terms) }),
      ...(text !== null && { t: text }),
    },
  }
}

export function sparseOf(terms: ModelObject['terms']): { readonly indices: number[]; readonly values: number[] } {
  return { indices: terms.map(([index]) => index), values: terms.map(([, weight]) => weight) }
}

function remove(target: string, id: string): Write {
  return onObjects(
    target,
    `delete ${id}`,
    (client) => client.collection(target).delete(id),
    (stored) => stored.delete(id),
  )
}

function removeWhere(target: string, random: Random): Write {
  const where = choose.filter(random)
  return onObjects(
    target,
    `delete where ${JSON.stringify(where)}`,
    (client) => client.collection(target).deleteWhere(asInput(where)),
    (stored) => {
      const found = [...stored].filter(([, object]) => matches(where, object))
      for (const [id] of found) stored.delete(id)
      return found.length
    },
  )
}

function updateFilters(target: string, random: Random): Write {
  const updates = choose.ids(random, 6).map((id) => ({ id, filter: choose.values(random) }))
  return onObjects(
    target,
    `filters of ${updates.map(({ id }) => id).join(', ')}`,
    (client) => client.collection(target).updateFilters(updates),
    (stored) => {
      const found = updates.filter(({ id }) => stored.has(id))
      for (const { id, filter } of found) stored.set(id, { ...(stored.get(id) as ModelObject), filter })
      return found.length
    },
  )
}

function rebuild(target: string, M: number): Write {
  return onObjects(
    target,
    `rebuild with M ${M}`,
    async (client) => {
      const collection = client.collection(target)
      await collection.rebuild({ v: { M } })
      for (;;) {
        const { status, error } = await collection.rebuildStatus()
        if (status === 'failed') throw new Error(`a rebuild failed: ${error}`)
        if (status !== 'in_progress') return
        await sleep(5)
      }
    },
    () => undefined,
  )
}

function vacuum(target: string): Write {
  return onObjects(
    target,
    'vacuum',
    async (client) => void (await client.collection(target).vacuum()),
    () => undefined,
  )
}
