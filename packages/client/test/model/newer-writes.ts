// The writes of a life that have conditions, change parts of objects, let them expire, or are about names and moments.
import type { Random } from '@annal/wal/testing'
import type { ModelObject } from '../../../engine/test/model/model.ts'
import * as choose from './choices.ts'
import type { Model } from './memory.ts'
import { inputOf, objectsFor, onObjects, type Write } from './writes.ts'

const late = Date.parse('2999-01-01T00:00:00Z')

export function newerWrite(random: Random, model: Model): Write {
  const target = choose.name(random)
  const kind = random.below(100)
  if (kind < 20) return patch(target, random)
  if (kind < 40) return upsertAbsent(target, random)
  if (kind < 60) return upsertExpiring(target, random)
  if (kind < 72) return putAlias(target)
  if (kind < 78) return deleteAlias()
  if (kind < 86) return branch(target, choose.name(random))
  return undo(random, model)
}

/** Changes of one object: null removes a key. */
function patch(target: string, random: Random): Write {
  const changes = choose.ids(random, 4).map((id) => {
    const n = random.below(1_000)
    const tag = choose.chosen(random, ['red', null])
    return { id, meta: { n }, filter: { tag }, increment: { n: random.below(5) - 2 } }
  })
  return onObjects(
    target,
    `patch ${changes.map(({ id }) => id).join(', ')}`,
    async (client) => (await client.collection(target).patch(changes)).updated,
    (stored) => {
      const found = changes.filter(({ id }) => stored.has(id))
      for (const { id, meta, filter, increment } of found) {
        const before = stored.get(id) as ModelObject
        const { tag: _, ...kept } = before.filter
        const values = filter.tag === null ? kept : { ...before.filter, tag: filter.tag }
        stored.set(id, { ...before, meta, filter: { ...values, n: (before.filter.n ?? 0) + increment.n } })
      }
      return found.length
    },
  )
}

/** Only objects that do not exist, or none if one does. */
function upsertAbsent(target: string, random: Random): Write {
  const [objects, atomic] = [objectsFor(random).slice(0, 5), random.chance(0.5)]
  const input = objects.map((one) => ({ ...inputOf(one), ifAbsent: true }))
  return onObjects(
    target,
    `upsert ${atomic ? 'all or none' : 'those'} that are absent: ${objects.map(([id]) => id).join(', ')}`,
    async (client) => (await client.collection(target).upsert(input, { atomic })).upserted,
    (stored) => {
      const absent = objects.filter(([id]) => !stored.has(id))
      if (atomic && absent.length < objects.length) return 'conflict'
      for (const [id, object] of absent) stored.set(id, object)
      return absent.length
    },
  )
}

/** Some have expired already, and are hidden: nothing deletes them before the server has run for an hour. */
function upsertExpiring(target: string, random: Random): Write {
  const objects = objectsFor(random)
    .slice(0, 6)
    .map(([id, object]) => [id, object, choose.chosen(random, [1_000, late, null])] as const)
  const input = objects.map(([id, object, expiresAt]) => ({ ...inputOf([id, object]), expiresAt }))
  return onObjects(
    target,
    `upsert with expiries ${objects.map(([id]) => id).join(', ')}`,
    async (client) => (await client.collection(target).upsert(input)).upserted,
    (stored) => {
      for (const [id, object, expiresAt] of objects) {
        if (expiresAt === 1_000) stored.delete(id)
        else stored.set(id, expiresAt === null ? object : { ...object, expiresAt })
      }
      return objects.length
    },
  )
}

function putAlias(target: string): Write {
  return {
    label: `alias to ${target}`,
    send: async (client) => void (await client.aliases.put(choose.alias, target)),
    apply(model) {
      if (model.has(choose.alias)) return 'collection_exists'
      if (!model.has(target)) return model.aliases.has(target) ? 'invalid_argument' : 'collection_not_found'
      model.aliases.set(choose.alias, target)
      return undefined
    },
  }
}

function deleteAlias(): Write {
  return {
    label: 'delete the alias',
    send: async (client) => void (await client.aliases.delete(choose.alias)),
    apply: (model) => (model.aliases.delete(choose.alias) ? undefined : 'alias_not_found'),
  }
}

function branch(source: string, target: string): Write {
  return {
    label: `branch ${target} of ${source}`,
    send: async (client) => void (await client.collection(source).branch(target)),
    apply(model) {
      const refused = model.refuseName(target)
      if (refused !== undefined) return refused
      const parent = model.resolve(source)
      if (parent === undefined) return 'collection_not_found'
      model.add(target, { ...parent, objects: new Map(parent.objects) })
      return undefined
    },
  }
}

/** Gives some objects the content of a remembered moment. */
function undo(random: Random, model: Model): Write {
  const ids = choose.ids(random, 6)
  const moment = choose.chosen(random, model.reachable) as Model['moments'][number] | undefined
  if (moment === undefined) return patch(choose.name(random), random)
  const { collection, lsn } = moment
  return onObjects(
    collection,
    `undo ${ids.join(', ')} to LSN ${lsn}`,
    async (client) => void (await client.collection(collection).undo({ ids, asOf: { lsn } })),
    (stored) => {
      for (const id of ids) {
        const then = moment.objects.get(id)
        if (then === undefined) stored.delete(id)
        else stored.set(id, then)
      }
      return undefined
    },
  )
}
