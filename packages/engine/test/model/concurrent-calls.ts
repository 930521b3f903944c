// Many concurrent callers of a few collections, which are created, deleted, rebuilt, cloned, backed up, and restored meanwhile: the calls
// of concurrent.test.ts.
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Collection, CollectionDefinition, Engine } from '@annal/engine'
import type { Random } from '@annal/wal/testing'
import { vectorOrCopy } from '../vector-or-copy.ts'

const callers = 12
const dimension = 24
export const names = ['a', 'b', 'c', 'd']

/** Codes that another caller's call may cause. */
const refusals: ReadonlySet<string> = new Set([
  'backup_exists',
  'backup_not_found',
  'backup_running',
  'collection_exists',
  'collection_loading',
  'collection_not_found',
  'field_not_found',
  'rebuild_running',
  'restore_unreachable',
])

interface World {
  readonly engine: Engine
  readonly random: Random
}

type Call = (world: World) => unknown

const calls: readonly (readonly [weight: number, name: string, call: Call])[] = [
  [30, 'upsert', ({ random, ...w }) => any(w, random).upsert(objects(random, 1 + random.below(120)))],
  [60, 'search', ({ random, ...w }) => any(w, random).search(question(random))],
  [20, 'hybrid', ({ random, ...w }) => any(w, random).search({ ...question(random), ...hybrid(random) })],
  [10, 'batch', ({ random, ...w }) => any(w, random).searchBatch(Array.from({ length: 20 }, () => question(random)))],
  [8, 'delete', ({ random, ...w }) => any(w, random).delete(ids(random, 40))],
  [3, 'deleteWhere', ({ random, ...w }) => any(w, random).deleteWhere(filter(random))],
  [
    4,
    'updateFilters',
    ({ random, ...w }) => any(w, random).updateFilters(ids(random, 9).map((id) => ({ id, filter: { n: 1 } }))),
  ],
  [5, 'get', ({ random, ...w }) => any(w, random).getMany(ids(random, 5))],
  [3, 'scroll', ({ random, ...w }) => any(w, random).scroll({ limit: 200, filter: filter(random) })],
  [2, 'facets', ({ random, ...w }) => any(w, random).facets({ key: 's' })],
  [2, 'count', ({ random, ...w }) => any(w, random).count(filter(random))],
  [1, 'recall', ({ random, ...w }) => any(w, random).recall({ sample: 5 })],
  [2, 'rebuild', ({ random, ...w }) => any(w, random).rebuild({ v: { M: 4 + random.below(12) } })],
  [2, 'vacuum', ({ random, ...w }) => any(w, random).vacuum()],
  [2, 'checkpoint', ({ engine }) => engine.checkpoint()],
  [2, 'create', ({ engine, random }) => engine.database().createCollection(definition(nameIn(random), random))],
  [1, 'drop', ({ engine, random }) => engine.database().deleteCollection(nameIn(random))],
  [1, 'clone', ({ engine, random }) => engine.database().backups.clone(nameIn(random), nameIn(random))],
  [2, 'backup', backup],
  [1, 'restore', ({ engine, random }) => engine.database().backups.restore(backupIn(engine, random), nameIn(random))],
  [1, 'remove backup', ({ engine, random }) => engine.database().backups.remove(backupIn(engine, random))],
  [1, 'verify', ({ engine, random }) => engine.database().backups.verify(backupIn(engine, random), { deep: true })],
  [1, 'restorePast', restorePast],
  [1, 'events', ({ engine }) => engine.database().history.events({ limit: 50 })],
]

/**
 * Makes `count` random calls, some concurrently, until all have ended or `going` returns false. Each call either fulfills its promise or is
 * rejected with a code in `refused` or one that other callers cause. Counts the calls by name and the rejections by code.
 */
export async function callAll(
  world: World,
  count: number,
  { refused = new Set(), going = () => true }: { refused?: ReadonlySet<string>; going?: () => boolean } = {},
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  let left = count
  const asking = Array.from({ length: callers }, async () => {
    while (left-- > 0 && going()) {
      const met = await make(world, refused)
      counts.set(met, (counts.get(met) ?? 0) + 1)
      // Many calls are rejected without waiting, which would block the event loop.
      await turn()
    }
  })
  await Promise.all(asking)
  return counts
}

/** The name of the call that was made, or the code of its rejection. */
async function make(world: World, refused: ReadonlySet<string>): Promise<string> {
  const [, name, call] = callAt(world.random.below(calls.reduce((sum, [weight]) => sum + weight, 0)))
  try {
    await call(world)
    return name
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (refusals.has(code) || refused.has(code)) return code
    throw new Error(`${name} was refused`, { cause: error })
  }
}

function callAt(index: number): (typeof calls)[number] {
  let end = 0
  for (const call of calls) {
    end += call[0]
    if (index < end) return call
  }
  throw new Error(`${index} is beyond all weights`)
}

export async function digestsOf(engine: Engine): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const { name } of engine.database().collections()) {
    const collection = engine.database().collection(name)
    // A clone may still be loading.
    while (collection.describe().condition === 'loading') await sleep(10)
    digests[name] = collection.stateDigest()
  }
  return digests
}

async function backup({ engine, random }: World): Promise<void> {
  await engine.database().backups.create(nameIn(random))
  await engine.database().backups.settled()
}

function restorePast({ engine, random }: World): unknown {
  const lsn = 1 + random.below(engine.stats().lsnApplied)
  return engine.database().backups.restorePast(nameIn(random), nameIn(random), { lsn })
}

function backupIn(engine: Engine, random: Random): string {
  const made = engine.database().backups.list()
  return made[random.below(Math.max(1, made.length))]?.name ?? 'none'
}

function any({ engine }: Pick<World, 'engine'>, random: Random): Collection {
  return engine.database().collection(nameIn(random))
}

function nameIn(random: Random): string {
  return names[random.below(names.length)] as string
}

export function definition(name: string, random: Random): CollectionDefinition {
  const precision = (['int8', 'float32', 'binary', 'float16', 'int16', 'int4', 'int2'] as const)[random.below(7)]
  const spaceType = (['l2', 'cosine', 'ip'] as const)[random.below(3)]
  return {
    name,
    fields: [
      { name: 'v', type: 'vector', params: { dimension, spaceType, precision, M: 8, efConstruction: 48 } },
      { name: 'w', type: 'sparse', params: {} },
    ],
  }
}

function ids(random: Random, count: number): string[] {
  return [...new Set(Array.from({ length: count }, () => `${random.below(1_500)}`))]
}

function objects(random: Random, count: number) {
  return ids(random, count).map((id) => ({
    id,
    meta: { n: random.below(9) },
    filter: { n: random.below(100), s: `k${random.below(5)}` },
    fields: { v: vector(random), ...(random.below(2) === 0 ? { w: sparse(random) } : {}) },
  }))
}

function vector(random: Random): number[] {
  return vectorOrCopy(random, dimension)
}

function sparse(random: Random): { readonly indices: number[]; readonly values: number[] } {
  const indices = ids(random, 5).map(Number)
  return { indices, values: indices.map(() => random.next() + 0.1) }
}

function filter(random: Random) {
  const from = random.below(95)
  return [{ n: { $range: [from, from + random.below(100 - from)] as [number, number] } }]
}

function question(random: Random) {
  const v = { query: vector(random), limit: 1 + random.below(30), ef: 16 + random.below(300) }
  return {
    fields: { v },
    ...(random.below(2) === 0 ? { filter: filter(random) } : {}),
    ...(random.below(5) === 0 ? { exact: true } : {}),
  }
}

function hybrid(random: Random) {
  const fields = { v: { query: vector(random), limit: 10 }, w: { query: sparse(random), limit: 10 } }
  return { fields, fusion: { method: 'rrf' as const } }
}
