// Expiries, the default expiry of collections, time that passes, and clocks that jump. After each command nothing that has expired is stored:
// the engine has deleted it, which is one record for each collection.
import type { RecordedChange } from '@annal/engine'
import fc from 'fast-check'
import { hourMs, until } from '../expiry/rig.ts'
import { id, name, object, pick, picked } from './arbitraries.ts'
import { type Command, check, command, inputOf, onCollection, type Real } from './command.ts'
import { changesUntilNow } from './feed-commands.ts'
import type { Life, Model } from './lives.ts'
import type { ModelObject } from './model.ts'

/** What a write says about the expiry of an object. */
type Expiry = { readonly ttlSeconds: number | null } | { readonly inSeconds: number } | { readonly expiresAt: null }

const seconds = fc.integer({ min: 1, max: 12 * 3_600 })
const expiry: fc.Arbitrary<Expiry> = fc.oneof(
  seconds.map((ttlSeconds) => ({ ttlSeconds })),
  seconds.map((inSeconds) => ({ inSeconds })),
  fc.constantFrom({ ttlSeconds: null }, { expiresAt: null }),
)
/** Most collections have none. */
export const defaultTtl = fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: seconds })

function inputExpiry(given: Expiry, nowMs: number) {
  return 'inSeconds' in given ? { expiresAt: new Date(nowMs + given.inSeconds * 1_000).toISOString() } : given
}

function expiring(object: ModelObject, given: Expiry, nowMs: number): ModelObject {
  const ttl = 'inSeconds' in given ? given.inSeconds : 'ttlSeconds' in given ? given.ttlSeconds : null
  const { expiresAt: _, ...rest } = object
  return ttl === null ? rest : { ...rest, expiresAt: nowMs + ttl * 1_000 }
}

type Given = readonly (readonly [id: string, object: ModelObject, expiry: Expiry])[]

async function write(life: Life, model: Model, { engine }: Real, target: string, objects: Given): Promise<void> {
  const { nowMs } = model
  const input = objects.map(([key, value, given]) => ({ ...inputOf(key, value), ...inputExpiry(given, nowMs) }))
  const { lsn } = await engine.database().collection(target).upsert(input)
  for (const [key, value, given] of objects)
    life.put(key, expiring(value, given, nowMs), life.objects.has(key) ? 'written' : 'created', {
      lsn,
      actor: undefined,
    })
  const written = objects.map(([key]) => key)
  model.record({ lsn, kind: 'objects-upserted', collection: model.nameOf(life), written })
}

function upsertExpiring(target: string, objects: Given): Command {
  return onCollection(
    `upsert with expiry ${objects.map(([key]) => key).join(', ')}`,
    target,
    (life, _, model, __, real) => write(life, model, real, target, objects),
  )
}

function patchExpiry(target: string, place: number, given: Expiry): Command {
  return onCollection('patch the expiry', target, async (life, real, model) => {
    const key = picked([...life.objects.keys()], place)
    if (key === undefined) return
    const { nowMs } = model
    const { lsn, updated } = await real.patch([{ id: key, ...inputExpiry(given, nowMs) }])
    check(updated === 1, `the expiry of ${key} was not changed`)
    const stored = life.objects.get(key) as ModelObject
    life.put(key, expiring(stored, given, nowMs), 'patched', { lsn, actor: undefined })
    model.record({ lsn, kind: 'objects-patched', collection: model.nameOf(life), written: [key] })
  })
}

function setDefault(target: string, ttl: number | undefined): Command {
  return onCollection(`default expiry ${ttl}`, target, async (life, real, model) => {
    const { lsn } = await real.updateDefaults({ ttlSeconds: ttl ?? null })
    check(real.describe().ttlSeconds === ttl, `the default expiry is ${real.describe().ttlSeconds}`)
    // Nothing changes without a record.
    if (lsn <= (model.records.at(-1)?.lsn ?? 0)) return check(ttl === life.ttl, `no record changed it to ${ttl}`)
    life.setTtl(ttl, lsn)
    model.record({ lsn, kind: 'fields-changed', collection: model.nameOf(life) })
  })
}

function pass(hours: number): Command {
  return command(`pass ${hours} hours`, (model, real) => finalize(model, real, hours * hourMs))
}

/** Lets time pass if something has expired, so that it is deleted. */
export async function settle(model: Model, real: Real): Promise<void> {
  if ([...model.values()].some((life) => life.expired(real.clock.ms).length > 0))
    await finalize(model, real, 2 * hourMs)
}

/** Lets time pass, more than an hour, and notes what the engine deletes meanwhile. */
async function finalize(model: Model, real: Real, ms: number): Promise<void> {
  const { clock, engine } = real
  clock.pass(ms)
  await until(() => engine.stats().expiry.hidden === 0)
  const expected = new Map([...model.values()].map((life) => [life, new Set(life.expired(clock.ms))]))
  const from = (model.records.at(-1)?.lsn ?? 0) + 1
  for (const change of (await changesUntilNow(real, { from })) as readonly RecordedChange[]) {
    const { lsn, timeMs, kind, collection, deleted = [] } = change
    const life = model.get(collection) as Life
    check(kind === 'objects-expired' && deleted.length > 0, `${kind} of ${collection} while time passed`)
    for (const key of deleted) {
      check(expected.get(life)?.delete(key) === true, `${key} of ${collection} was deleted, but has not expired`)
      life.put(key, undefined, 'expired', { lsn, actor: undefined })
    }
    model.record({ lsn, timeMs, kind, collection, deleted })
  }
  for (const [life, left] of expected) check(left.size === 0, `${[...left]} of ${model.nameOf(life)} was not deleted`)
}

/** The clock jumps there and back. Reads hide by it, nothing is deleted for good, and what was written meanwhile is the newest moment. */
function jump(target: string, hours: number, written: Given): Command {
  return command(`the clock jumps ${hours} hours, with ${written.length} writes to ${target}`, async (model, real) => {
    const { clock, engine } = real
    // The position of a cursor would be a record at any time, and a record is the newest moment.
    if (model.hasWaitingCursor) return
    const leap = async (ms: number) => {
      const { clockJumps } = engine.stats().expiry
      clock.ms += ms
      await until(() => engine.stats().expiry.clockJumps > clockJumps)
    }
    await leap(hours * hourMs)
    await compareVisible(model, real)
    const life = model.resolve(target)
    if (life && written.length > 0) {
      await write(life, model, real, target, written)
      await compareVisible(model, real)
    }
    await leap(-hours * hourMs)
    await compareVisible(model, real)
    check(engine.stats().expiry.isDeleting === false, 'the engine deletes by a clock that jumped')
    await finalize(model, real, Math.max(0, hours) * hourMs + 2 * hourMs)
  })
}

/** Reads hide by the later of the clock and the newest record. */
async function compareVisible(model: Model, { engine }: Real): Promise<void> {
  const { nowMs } = model
  let hidden = 0
  for (const [key, life] of model) {
    const collection = engine.database().collection(key)
    const expired = new Set(life.expired(nowMs))
    hidden += expired.size
    const expected = [...life.objects.keys()].filter((one) => !expired.has(one)).sort()
    const ids = (objects: readonly { readonly id: string }[]) => objects.map((one) => one.id).sort()
    const found = ids((await collection.scroll({ limit: 100 })).objects)
    check(`${found}` === `${expected}`, `${key} shows ${found} at ${nowMs}, expected ${expected}`)
    check(`${ids(await collection.getMany([...life.objects.keys()]))}` === `${expected}`, `${key} gets others`)
    check((await collection.count()).count === expected.length, `${key} counts others`)
    const { results } = await collection.search({ fields: { v: { query: [1, 0, 0, 0, 0, 0], limit: 64 } } })
    check(`${ids(results.v ?? [])}` === `${expected}`, `${key} finds ${ids(results.v ?? [])}, expected ${expected}`)
  }
  check(engine.stats().expiry.hidden === hidden, `${engine.stats().expiry.hidden} are hidden, expected ${hidden}`)
}

const few = fc.uniqueArray(fc.tuple(id, object, expiry), { minLength: 1, maxLength: 6, selector: ([key]) => key })

export const expiryCommands: fc.Arbitrary<Command>[] = [
  fc.tuple(name, few).map((args) => upsertExpiring(...args)),
  fc.tuple(name, pick, expiry).map((args) => patchExpiry(...args)),
  fc.tuple(name, defaultTtl).map((args) => setDefault(...args)),
  fc.integer({ min: 2, max: 9 }).map(pass),
  fc
    .tuple(name, fc.integer({ min: 1, max: 9 }), fc.oneof(fc.constant([]), few))
    .map(([target, hours, written]) => jump(target, hours, written)),
]
