// A life of a data directory that writes every kind of event, and what must be the same afterwards by every way that leads to its state.
// The compiler refuses a kind of event that the table does not have.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, Engine, ObjectInput } from '@annal/engine'
import { decodeEvent, type Event } from '@annal/engine/events'
import { nodeVfs, readHistory, readIdentity } from '@annal/wal'
import { historyOf } from '../../src/backup/archive.ts'
import { partName, readImage, tailPart } from '../../src/backup/image/image.ts'
import { readTail } from '../../src/backup/image/tail-file.ts'
import { authorOf } from '../../src/events/author.ts'
import { hourMs, type TestClock, until } from '../expiry/rig.ts'

export type EventKind = Event['kind']
/** Kinds of the log. `expiries-cleared` is only in images. */
export type LoggedKind = Exclude<EventKind, 'expiries-cleared'>

export const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }

const fields = [
  {
    name: 'v',
    type: 'vector',
    params: { dimension: 4, spaceType: 'cosine', precision: 'int8', M: 4, efConstruction: 16 },
  },
  { name: 's', type: 'sparse' },
  { name: 'm', type: 'multi_vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } },
  { name: 't', type: 'text', params: { language: 'english' } },
] as const

function object(n: number): ObjectInput {
  const v = [1 + n, 2, 3 - n, 0.5]
  const s = { indices: [n % 5, 7], values: [1, 0.5] }
  return {
    id: `o${n}`,
    meta: { n },
    filter: { third: n % 3, n },
    fields: { v, s, m: [[n, 1]], t: `Text ${n} of ${n % 4} kinds of films` },
  }
}

const hash = (digit: string) => digit.repeat(64)

type Step = (engine: Engine, database: Database, clock: TestClock) => Promise<unknown>

/** What a kind of event comes from, in this order. Each may write other kinds as well. */
const steps: Readonly<Record<LoggedKind, Step>> = {
  'collection-created': (_, database) => database.createCollection({ name: 'films', fields }, { requestKey: 'create' }),
  'objects-upserted': async (_, database) => {
    const films = database.collection('films')
    await films.upsert(
      Array.from({ length: 12 }, (__, n) => object(n)),
      { actor: 'agent 1', requestKey: 'upsert' },
    )
    await films.upsert([{ ...object(3), ifAbsent: true }, object(20)])
    await films.upsert([21, 22, 23, 24].map((n) => ({ ...object(n), ttlSeconds: 90_000 })))
    await films.upsert([25, 26].map((n) => ({ ...object(n), ttlSeconds: 60 })))
  },
  'filters-replaced': (_, database) =>
    database.collection('films').updateFilters(['o1', 'o21'].map((id) => ({ id, filter: { third: 9 } }))),
  'objects-deleted': (_, database) => database.collection('films').delete(['o2', 'o20'], { actor: 'agent 2' }),
  'objects-patched': (_, database) =>
    database.collection('films').patch([
      { id: 'o4', meta: { seen: true }, filter: { third: null }, increment: { n: 5 } },
      { id: 'o7', ttlSeconds: 80_000 },
      { id: 'o22', meta: { seen: true }, increment: { n: 5 } },
      { id: 'o23', expiresAt: null },
      { id: 'o24', ttlSeconds: 80_000 },
    ]),
  'objects-expired': async (engine, database, clock) => {
    const films = database.collection('films')
    // After the patches: those that expire keep the expiry that the patch left.
    await films.updateFilters(['o7', 'o22', 'o23'].map((id) => ({ id, filter: { third: 8 } })))
    clock.pass(hourMs)
    await until(() => engine.stats().expiry.deleted === 2)
  },
  'fields-changed': async (_, database) => {
    const films = database.collection('films')
    await films.updateFields({ v: { recall: 0.9 } })
    await films.updateDefaults({ ttlSeconds: 70_000 })
    await films.upsert([object(27), { ...object(28), ttlSeconds: null }])
  },
  'collection-rebuilt': (_, database) => database.collection('films').rebuild({ v: { M: 6 } }),
  'collection-restored': async (engine, database) => {
    await database.branch('films', { name: 'trial' }, { actor: 'agent 3' })
    await database.collection('trial').served()
    await database.collection('trial').upsert([object(30)])
    await database.branch('trial', { name: 'earlier', asOf: { lsn: engine.lsnApplied } })
    await database.backups.clone('films', 'copy')
    await database.collection('copy').served()
    // The image has a record of the kind `expiries-cleared`.
    await database.backups.clone('films', 'kept', { keepExpired: true })
    await database.collection('kept').served()
  },
  'objects-restored': async (_, database) => {
    const { lsn } = await database.collection('films').delete(['o5', 'o6'])
    await database.collection('films').upsert([object(5), object(40)])
    const request = { collection: 'films', ids: ['o5', 'o6', 'o40'], asOf: { lsn: lsn - 1 } }
    await database.history.undo(request, { actor: 'operator' })
  },
  'alias-put': async (_, database) => {
    await database.putAlias('live', 'films')
    await database.putAlias('other', 'copy')
    await database.putAlias('other', 'films', { requestKey: 'alias' })
  },
  'collection-promoted': (_, database) => database.promote('trial', { over: 'films', keepAs: 'films_old' }),
  'alias-dropped': (_, database) => database.deleteAlias('other'),
  'collection-dropped': (_, database) => database.deleteCollection('earlier'),
  'request-answered': (_, database) => database.collection('films').delete(['absent'], { requestKey: 'nothing' }),
  'cursor-put': async (engine, database) => {
    await database.cursors.acknowledge('cache', engine.lsnApplied)
    await database.cursors.acknowledge('index', engine.lsnApplied)
  },
  'cursor-dropped': (_, database) => database.cursors.delete('index'),
  'database-created': ({ control }) =>
    control.createDatabase({ name: 'music', token: { name: 'first', kind: 'rw', hash: hash('a') } }),
  'token-put': async ({ control }) => {
    await control.putToken('music', { name: 'second', kind: 'r', hash: hash('b') })
    await control.putToken('music', { name: 'third', kind: 'r', hash: hash('c') })
  },
  'token-dropped': ({ control }) => control.deleteToken('music', 'third'),
  'database-changed': ({ control }) => control.setDatabaseActive('music', false),
  'database-dropped': async (engine) => {
    await engine.control.createDatabase({ name: 'gone' })
    await engine.database('gone').createCollection({ name: 'films', fields })
    await engine.database('gone').putAlias('live', 'films')
    await engine.control.deleteDatabase('gone')
  },
  'setting-put': ({ control }) => control.putSetting('theme', 'dark'),
}

async function createInstead(_: Engine, database: Database): Promise<void> {
  for (const name of ['trial', 'earlier', 'copy']) await database.createCollection({ name, fields, ttlSeconds: 60_000 })
  await database.collection('copy').updateDefaults({ ttlSeconds: null })
  await database.collection('trial').upsert([object(0), object(30)])
}

export const everyKind = Object.keys(steps) as readonly LoggedKind[]

/** Where a step ended. */
export interface Moment {
  readonly kind: LoggedKind
  readonly lsn: number
  readonly state: string
}

export interface LifeOptions {
  /** The clock of the engine, which must look for expired objects every few milliseconds, as `openAt` says. */
  readonly clock: TestClock
  /** Called after half of the steps. */
  readonly midway?: () => Promise<unknown>
  /** The collections of branches and clones are created instead: traces hold no images. */
  readonly withoutImages?: boolean
}

/** Writes every kind of event. */
export async function liveThroughAll(engine: Engine, options: LifeOptions): Promise<readonly Moment[]> {
  const { clock, midway, withoutImages = false } = options
  const moments: Moment[] = []
  for (const [i, kind] of everyKind.entries()) {
    const step = kind === 'collection-restored' && withoutImages ? createInstead : steps[kind]
    await step(engine, engine.database(), clock)
    moments.push({ kind, lsn: engine.lsnApplied, state: digestsOf(engine) })
    if (i === Math.floor(everyKind.length / 2)) await midway?.()
  }
  return moments
}

/** Digests of the catalog, which has names, aliases, branches, cursors, tokens, and settings, and of every collection. */
export function digestsOf(engine: Engine): string {
  const collections = engine.control.databases().flatMap(({ name }) => {
    const database = engine.database(name)
    const names = database.collections().map((one) => one.name)
    return names.sort().map((one) => [name, one, database.collection(one).stateDigest()])
  })
  return JSON.stringify([engine.control.digest(), ...collections])
}

/** What readers see in the database `default`, without the digests. */
export async function seenIn(database: Database): Promise<unknown> {
  const names = database.collections().map(({ name }) => name)
  const contents: unknown[] = []
  for (const name of names.sort()) {
    const { objects } = await database.collection(name).scroll({ limit: 100 })
    const branches = database.branches(name).map((one) => [one.name, one.parentLsn, one.deletedAt !== undefined])
    const rows = objects.map(({ id, lsn, meta, filter, expiresAt }) => [id, lsn, meta, filter, ...defined(expiresAt)])
    const { ttlSeconds, fields: described } = database.collection(name).describe()
    const words = described.some((field) => field.kind === 'text') ? [await foundByWords(database, name)] : []
    contents.push([name, rows, branches, ...defined(ttlSeconds), ...words])
  }
  const cursors = database.cursors.list().map(({ name, lsn }) => [name, lsn])
  const aliases = database.aliases().map(({ name, collection, lsn }) => [name, collection, lsn])
  return JSON.parse(JSON.stringify({ contents, cursors, aliases }))
}

/** Ids and scores of texts with some words. */
async function foundByWords(database: Database, name: string): Promise<unknown> {
  const query = { must: ['films'], should: ['text 3', { phrase: '3 kinds' }] }
  const { results } = await database.collection(name).search({ fields: { t: { query, limit: 50 } } })
  return results.t?.map(({ id, similarity }) => [id, similarity])
}

/** Empty if there is no value, as in golden directories from before there were expiries. */
function defined(value: number | undefined): number[] {
  return value === undefined ? [] : [value]
}

/** Kinds and payload versions of the records of a directory, with its archive, and the actors in them. */
export async function recordsOf(
  dataDir: string,
  lsnLast: number,
): Promise<{ kinds: Set<EventKind>; actors: Set<string>; versions: Set<number> }> {
  const vfs = nodeVfs()
  const identity = await readIdentity({ vfs, dir: dataDir })
  if (identity === undefined) throw new Error(`${dataDir} is no data directory`)
  const [kinds, actors, versions] = [new Set<EventKind>(), new Set<string>(), new Set<number>()]
  for await (const record of readHistory(historyOf({ vfs, dataDir }, identity), { from: 1, to: lsnLast })) {
    kinds.add(decodeEvent(record).kind)
    versions.add(record.version)
    const author = authorOf(record)
    if (author !== undefined) actors.add(author.actor)
  }
  return { kinds, actors, versions }
}

/** Kinds of the records in the tails of the images that the collections of a directory come from. */
export async function kindsInImages(dataDir: string): Promise<Set<EventKind>> {
  const [vfs, imports, kinds] = [nodeVfs(), join(dataDir, 'imports'), new Set<EventKind>()]
  for (const name of await readdir(imports)) {
    const dir = join(imports, name)
    const { source, lsn, tail } = (await readImage(vfs, dir)).image
    const facts = { collectionId: source.collectionId, lsn, bytes: tail.bytes, sum: tail.sum }
    for await (const record of readTail(vfs, join(dir, partName(tailPart)), facts)) kinds.add(decodeEvent(record).kind)
  }
  return kinds
}
