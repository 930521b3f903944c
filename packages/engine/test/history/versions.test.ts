// The history of objects against a list that the test keeps: random writes with checkpoints and restarts, every version of every object, what
// differs between any two moments, and undos, whose replay gives the same digests.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection, Database, Engine, EngineError, ObjectVersion, StoredObject } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { objectDigest } from '../../src/history/object-digest.ts'
import { denseField, dimension, openedEngine, temporaryDirectory } from '../backup/rig.ts'

const seed = chosenSeed()
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
const ids = Array.from({ length: 12 }, (_, i) => `o${i}`)
const fields = [denseField(), { name: 's', type: 'sparse' }] as const

/** What the test knows of an object after a record. */
interface Kept {
  readonly lsn: number
  readonly kind: ObjectVersion['kind']
  readonly exists: boolean
  readonly actor: string
}

type Content = ReadonlyMap<string, string>

interface Model {
  /** Digests by id after each record that the test wrote. */
  readonly moments: { readonly lsn: number; readonly content: Content }[]
  readonly versions: Map<string, Kept[]>
}

async function contentOf(collection: Collection): Promise<Map<string, string>> {
  const objects = (await collection.getMany(ids)) as readonly StoredObject[]
  return new Map(objects.map((object) => [object.id, objectDigest(object)]))
}

function keep({ versions }: Model, id: string, version: Kept): void {
  versions.set(id, [...(versions.get(id) ?? []), version])
}

async function allVersions(database: Database, id: string, limit: number): Promise<ObjectVersion[]> {
  const versions: ObjectVersion[] = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page = await database.history.versions({ collection: 'c', id, from, limit })
    if (!page.complete) continue
    versions.push(...page.versions)
    from = page.next
  }
  return versions
}

async function changesOf(database: Database, from: number, to?: number): Promise<Map<string, string>> {
  const changes = new Map<string, string>()
  const moments = { from: { lsn: from }, ...(to !== undefined && { to: { lsn: to } }) }
  for await (const { id, change } of database.history.diff({ collection: 'c', ...moments })) changes.set(id, change)
  return changes
}

function expectedChanges(before: Content, after: Content): Map<string, string> {
  const changes = new Map<string, string>()
  for (const id of ids) {
    const [was, is] = [before.get(id), after.get(id)]
    if (was !== is) changes.set(id, was === undefined ? 'added' : is === undefined ? 'removed' : 'changed')
  }
  return changes
}

const sorted = (map: ReadonlyMap<string, string>) => [...map].sort()

async function randomStep(engine: Engine, model: Model, random: ReturnType<typeof seededRandom>): Promise<void> {
  const database = engine.database()
  const collection = database.collection('c')
  const actor = `agent ${random.below(3)}`
  const before = await contentOf(collection)
  const some = ids.filter(() => random.below(4) === 0)
  const kind = random.below(8)
  const lsnBefore = engine.lsnApplied
  if (kind < 4) {
    const objects = some.map((id) => ({
      id,
      meta: { n: random.below(3), [`k${random.below(3)}`]: 'x' },
      filter: { tag: random.below(3) },
      fields: { v: Array.from({ length: dimension }, () => random.below(5) + 1), s: { indices: [1], values: [2] } },
    }))
    const { lsn } = await collection.upsert(objects, { actor })
    for (const id of some) keep(model, id, { lsn, kind: before.has(id) ? 'written' : 'created', exists: true, actor })
  } else if (kind === 4) {
    const { lsn, deleted } = await collection.delete(some, { actor })
    for (const id of deleted) keep(model, id, { lsn, kind: 'deleted', exists: false, actor })
  } else if (kind === 5) {
    const updates = some.map((id) => ({ id, filter: { tag: random.below(3), other: 1 } }))
    const { lsn } = await collection.updateFilters(updates, { actor })
    if (engine.lsnApplied > lsnBefore)
      for (const id of some.filter((one) => before.has(one)))
        keep(model, id, { lsn, kind: 'filter-updated', exists: true, actor })
  } else if (kind === 6) {
    const moment = model.moments[random.below(model.moments.length)] as Model['moments'][number]
    const request = { collection: 'c', ids, asOf: { lsn: moment.lsn } } as const
    const counted = await database.history.undo({ ...request, dryRun: true })
    const { lsn, ...done } = await database.history.undo(request, { actor })
    if (counted.restored !== done.restored || counted.deleted !== done.deleted) throw new Error('the dry run differs')
    const after = await contentOf(collection)
    if (JSON.stringify(sorted(after)) !== JSON.stringify(sorted(moment.content))) throw new Error('the undo differs')
    if (engine.lsnApplied > lsnBefore)
      for (const id of ids) {
        const last = model.versions.get(id)?.at(-1)
        if (last === undefined || last.lsn <= moment.lsn) continue
        if (!last.exists && !moment.content.has(id)) continue
        keep(model, id, { lsn, kind: 'restored', exists: moment.content.has(id), actor })
      }
  } else if (kind === 7 && random.below(2) === 0) await collection.vacuum()
  model.moments.push({ lsn: engine.lsnApplied, content: await contentOf(collection) })
}

async function checkAll(t: Test, engine: Engine, model: Model, random: ReturnType<typeof seededRandom>): Promise<void> {
  const database = engine.database()
  for (const id of ids) {
    const found = await allVersions(database, id, 1 + random.below(5))
    t.strictSame(
      found.map(({ lsn, kind, exists, author }) => ({ lsn, kind, exists, actor: author?.actor })),
      model.versions.get(id) ?? [],
      `versions of ${id}`,
    )
  }
  for (let i = 0; i < 3; i++) {
    const [a, b] = [random.below(model.moments.length), random.below(model.moments.length)].sort((x, y) => x - y)
    const [from, to] = [model.moments[a ?? 0], model.moments[b ?? 0]] as [Model['moments'][0], Model['moments'][0]]
    t.strictSame(sorted(await changesOf(database, from.lsn, to.lsn)), sorted(expectedChanges(from.content, to.content)))
  }
  const [first, last] = [model.moments[0], model.moments.at(-1)] as [Model['moments'][0], Model['moments'][0]]
  t.strictSame(sorted(await changesOf(database, first.lsn)), sorted(expectedChanges(first.content, last.content)))
}

test(`versions, differences and undos equal the list of the test, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const dataDir = await temporaryDirectory(t)
  const model: Model = { moments: [], versions: new Map() }
  let digest: string | undefined
  for (let round = 0; round < 4; round++) {
    const engine = await openedEngine(t, { dataDir, archive })
    if (round === 0) {
      await engine.database().createCollection({ name: 'c', fields: [...fields] })
      model.moments.push({ lsn: engine.lsnApplied, content: new Map() })
    }
    const collection = engine.database().collection('c')
    if (digest !== undefined) t.equal(collection.stateDigest(), digest, 'the replay gives the same state')
    for (let step = 0; step < 15; step++) await randomStep(engine, model, random)
    await checkAll(t, engine, model, random)
    if (random.below(2) === 0) await engine.checkpoint()
    for (let step = 0; step < 5; step++) await randomStep(engine, model, random)
    digest = collection.stateDigest()
    await engine.close()
  }
})

const vector = Array.from({ length: dimension }, (_, i) => i + 1)

async function shelf(t: Test): Promise<{ engine: Engine; database: Database; films: Collection }> {
  const engine = await openedEngine(t, { archive })
  const database = engine.database()
  await database.createCollection({ name: 'c', fields: [...fields] })
  return { engine, database, films: database.collection('c') }
}

test('a version names the text fields whose texts changed', async (t) => {
  const engine = await openedEngine(t, { archive })
  const database = engine.database()
  await database.createCollection({
    name: 'c',
    fields: [denseField(), { name: 't', type: 'text', params: { language: 'english' } }],
  })
  const films = database.collection('c')
  for (const text of ['a ship', 'a station', 'a station', undefined])
    await films.upsert([{ id: 'a', fields: { v: vector, ...(text !== undefined && { t: text }) } }])
  await films.upsert([{ id: 'a', fields: { t: 'a zone' } }])
  t.strictSame(
    (await allVersions(database, 'a', 100)).map(({ changes }) => changes?.fields),
    [['v', 't'], ['t'], [], ['t'], ['v', 't']],
  )
})

test('a version says which keys and fields changed, and who changed them', async (t) => {
  const { database, films } = await shelf(t)
  await films.upsert([{ id: 'a', meta: { x: 1, y: 'q' }, filter: { tag: 1 }, fields: { v: vector } }], { actor: 'one' })
  await films.upsert([
    { id: 'a', meta: { x: 2, z: null }, filter: { tag: 1 }, fields: { v: vector, s: { indices: [3], values: [1] } } },
  ])
  await films.updateFilters([{ id: 'a', filter: { tag: 2 } }])
  await films.delete(['a'])
  await films.delete(['a'])
  const found = await allVersions(database, 'a', 100)
  t.strictSame(
    found.map(({ kind, changes }) => [kind, changes]),
    [
      ['created', { meta: { x: { after: 1 }, y: { after: 'q' } }, filter: { tag: { after: 1 } }, fields: ['v'] }],
      [
        'written',
        {
          meta: { x: { before: 1, after: 2 }, y: { before: 'q' }, z: { after: null } },
          filter: {},
          fields: ['s'],
        },
      ],
      ['filter-updated', { meta: {}, filter: { tag: { before: 1, after: 2 } }, fields: [] }],
      [
        'deleted',
        { meta: { x: { before: 2 }, z: { before: null } }, filter: { tag: { before: 2 } }, fields: ['v', 's'] },
      ],
    ],
  )
  t.strictSame(
    found.map(({ author }) => author),
    [{ token: '', actor: 'one' }, undefined, undefined, undefined],
  )
  const bytes = new Uint8Array([1, 2, 3])
  await films.upsert([{ id: 'b', meta: bytes, fields: { v: vector } }])
  await films.upsert([{ id: 'b', meta: new Uint8Array([9]), fields: { v: vector } }])
  t.strictSame(
    (await allVersions(database, 'b', 1)).map(({ changes }) => changes?.metaBytes),
    [true, true],
  )
})

test('an undo by filter restores what matches now and what matched then, in one record, or nothing', async (t) => {
  const { engine, database, films } = await shelf(t)
  const object = (id: string, tag: number) => ({ id, filter: { tag }, fields: { v: vector } })
  await films.upsert([object('kept', 1), object('moved', 1), object('gone', 1), object('other', 2)])
  // So many that nothing is vacuumed, which would be a record of its own.
  await films.upsert(Array.from({ length: 40 }, (_, i) => object(`f${i}`, 9)))
  const asOf = { lsn: engine.lsnApplied }
  const then = await films.getMany(['kept', 'moved', 'gone'])
  await films.upsert([object('moved', 2), object('new', 1), object('other', 3)])
  await films.delete(['gone'])
  const request = { collection: 'c', filter: [{ tag: { $eq: 1 } }], asOf }
  const lsn = engine.lsnApplied
  t.match(await database.history.undo({ ...request, dryRun: true }), { restored: 2, deleted: 1, lsn })
  t.equal(engine.lsnApplied, lsn, 'a dry run writes nothing')
  const done = await database.history.undo(request, { requestKey: 'undo-1' })
  t.match(done, { restored: 2, deleted: 1, asOfLsn: asOf.lsn })
  t.strictSame(await database.history.undo(request, { requestKey: 'undo-1' }), done, 'a repetition changes nothing')
  const { events } = await database.history.events({ from: lsn + 1 })
  t.strictSame(
    events.map(({ kind }) => kind),
    ['objects-restored'],
  )
  const now = await films.getMany(['kept', 'moved', 'gone'])
  t.strictSame(now.map(objectDigest), then.map(objectDigest))
  t.strictSame((await films.get('other'))?.filter, { tag: 3 }, 'what the filter does not choose stays')
  t.equal(await films.get('new'), undefined)
  t.match(await database.history.undo(request), { restored: 2, deleted: 0 }, 'what was written since is written again')
  await database.backups.clone('c', 'copy')
  while (database.collection('copy').describe().condition === 'loading') await sleep(20)
  t.equal(database.collection('copy').stateDigest(), films.stateDigest())
  await database.backups.restorePast('c', 'past', { lsn: engine.lsnApplied })
  t.equal(database.collection('past').describe().objects, 44)
})

test('an undo in a branch leaves objects that were not written since it began', async (t) => {
  const { engine, database, films } = await shelf(t)
  const object = (id: string, tag: number) => ({ id, filter: { tag }, fields: { v: vector } })
  await films.upsert([object('kept', 1), object('changed', 1)])
  const { lsn } = await database.branch('c', { name: 'trial' })
  await database.collection('trial').served()
  await database.collection('trial').upsert([object('changed', 1)])
  const request = { collection: 'trial', filter: [{ tag: { $eq: 1 } }], asOf: { lsn } }
  t.match(await database.history.undo({ ...request, dryRun: true }), { restored: 1, deleted: 0 })
  t.match(await database.history.undo(request), { restored: 1, deleted: 0 })
  t.equal((await database.collection('trial').get('kept'))?.lsn, lsn)
  const asOf = { lsn: engine.lsnApplied }
  t.match(await database.history.undo({ ...request, asOf }), { restored: 0, deleted: 0 })
})

test('wrong requests are refused with the field and the limit', async (t) => {
  const { engine, database } = await shelf(t)
  const base = { collection: 'c', asOf: { lsn: 1 } }
  const refused = async (promise: Promise<unknown>, code: string, details: object) =>
    t.rejects(promise, { code, details } as unknown as EngineError)
  const { history } = database
  await refused(history.undo(base), 'invalid_argument', { field: 'ids' })
  await refused(history.undo({ ...base, ids: ['a'], filter: [{ a: { $eq: 1 } }] }), 'invalid_argument', {
    field: 'ids',
  })
  await refused(history.undo({ ...base, filter: [] }), 'invalid_argument', { field: 'filter' })
  const many = Array.from({ length: 10_001 }, String)
  await refused(history.undo({ ...base, ids: many }), 'limit_exceeded', { field: 'ids', value: 10_001, limit: 10_000 })
  for (const asOf of [{}, { lsn: -1 }, { lsn: 1.5 }, { lsn: 1, timeMs: 1 }, { timeMs: NaN }, null])
    await refused(history.undo({ ...base, ids: ['a'], asOf: asOf as never }), 'invalid_argument', { field: 'asOf' })
  await refused(history.undo({ ...base, ids: ['a'], asOf: { lsn: 99 } }), 'restore_unreachable', {})
  await refused(history.undo({ ...base, collection: 'nope', ids: ['a'] }), 'collection_not_found', {})
  await refused(history.versions({ collection: 'c', id: '' }), 'invalid_argument', {})
  await refused(history.versions({ collection: 'c', id: 'a', limit: 501 }), 'limit_exceeded', {
    field: 'limit',
    limit: 500,
  })
  await refused(history.versions({ collection: 'nope', id: 'a' }), 'collection_not_found', {})
  await refused(history.diff({ collection: 'c', from: { lsn: 'x' as never } }).next(), 'invalid_argument', {
    field: 'from',
  })
  const reversed = { collection: 'c', from: { lsn: engine.lsnApplied }, to: { lsn: 0 } }
  await refused(history.diff(reversed).next(), 'invalid_argument', { field: 'from' })
})
