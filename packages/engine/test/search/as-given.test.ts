// Vectors are returned as given, bit for bit: for every precision and space, by every call that returns one, and after any change of the
// collection.
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Engine, type FieldDefinition, openEngine, restoreDataDirectory } from '@annal/engine'
import { decodeEvent } from '@annal/engine/events'
import { nodeVfs, readLogFiles } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import {
  bitsOf,
  dimension,
  everyField,
  faultsIn,
  faultsInSearches,
  type Given,
  objectOf,
  someGiven,
  spaceTypes,
} from './as-given.ts'
import { openCollection, openDirectory } from './rig.ts'

const seed = chosenSeed()
tap.setTimeout(300_000)

/** More rows than the number from which quantized fields are no longer float32 in memory. */
const count = 520

async function fill(collection: Collection, given: readonly Given[]): Promise<void> {
  for (let start = 0; start < given.length; start += 260)
    await collection.upsert(given.slice(start, start + 260).map(objectOf))
}

function byId(...lists: (readonly Given[])[]): Map<string, Given> {
  return new Map(lists.flat().map((one) => [one.id, one]))
}

async function opened(t: Test, dataDir: string): Promise<Engine> {
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', keepLog: true })
  t.teardown(() => engine.close())
  return engine
}

for (const space of spaceTypes) test(`every vector of a ${space} field is returned as given`, (t) => everyWay(t, space))

async function everyWay(t: Test, space: string): Promise<void> {
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const dataDir = await openDirectory(t)
  let engine = await opened(t, dataDir)
  const database = engine.database()
  let collection = await database.createCollection({ name: 'things', fields: everyField(space) })
  const first = someGiven(random, space, count)
  await fill(collection, first)
  const again = someGiven(random, space, 60, 100)
  await engine.checkpoint()
  await fill(collection, again)
  await collection.delete(['3', '4', '5'])
  const all = byId(first, again)
  for (const id of ['3', '4', '5']) all.delete(id)
  const check = async (what: string, source = collection) =>
    t.strictSame((await faultsIn(source, all)).slice(0, 5), [], what)
  t.strictSame((await faultsInSearches(collection, all)).slice(0, 5), [], 'hits')
  await check('after the writes')

  const digest = collection.stateDigest()
  await database.backups.create('things', 'kept')
  await database.backups.settled()
  await database.backups.restore('kept', 'restored')
  await check('of a backup', database.collection('restored'))
  await database.backups.clone('things', 'cloned')
  await database.collection('cloned').served()
  await check('of a clone', database.collection('cloned'))
  await database.backups.restorePast('things', 'past', { lsn: collection.describe().lsn })
  await check('of a moment of the past', database.collection('past'))
  for (const name of ['restored', 'cloned', 'past']) await database.deleteCollection(name)

  await cp(dataDir, join(dataDir, '..', 'killed'), { recursive: true })
  await restoreDataDirectory({ from: dataDir, to: join(dataDir, '..', 'directory') })
  await engine.close()
  for (const [what, dir] of [
    ['a checkpoint', dataDir],
    ['a replay', join(dataDir, '..', 'killed')],
    ['a restored directory', join(dataDir, '..', 'directory')],
  ] as const) {
    engine = await opened(t, dir)
    collection = engine.database().collection('things')
    await check(`of ${what}`)
    t.equal(collection.stateDigest(), digest, `the state of ${what}`)
    if (dir !== dataDir) await engine.close()
    if (dir === dataDir) {
      await collection.rebuild({ [`int8_${space}`]: { M: 6 } })
      await check('after a rebuild')
      t.strictSame((await faultsInSearches(collection, all)).slice(0, 5), [], 'hits after a rebuild')
      await collection.vacuum()
      await check('after a vacuum')
      await engine.close()
      engine = await opened(t, dir)
      collection = engine.database().collection('things')
      await check('after a rebuild and a start')
      await engine.close()
    }
  }
}

test('the events of a log give the same vectors in another engine', async (t) => {
  const random = seededRandom(seed + 1)
  const dataDir = await openDirectory(t)
  const engine = await opened(t, dataDir)
  const space = 'cosine'
  const given = someGiven(random, space, 80)
  const collection = await engine.database().createCollection({ name: 'things', fields: everyField(space) })
  await fill(collection, given)
  await collection.rebuild()
  const other = await opened(t, await openDirectory(t))
  for await (const record of readLogFiles({ vfs: nodeVfs(), dir: join(dataDir, 'wal') }))
    await other.repeat(decodeEvent(record))
  const repeated = other.database().collection('things')
  t.strictSame(await faultsIn(repeated, byId(given)), [])
  t.equal(repeated.stateDigest(), collection.stateDigest())
})

test('events of unit vectors equal those of earlier versions', async (t) => {
  const dataDir = await openDirectory(t)
  const engine = await opened(t, dataDir)
  const params = { dimension: 2, space_type: 'cosine', precision: 'float32' } as const
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const collection = await engine.database().createCollection({ name: 'things', fields })
  await collection.upsert([{ id: 'unit', fields: { v: [0.6, 0.8] } }])
  await collection.upsert([{ id: 'long', fields: { v: [3, 4] } }])
  const versions: number[] = []
  for await (const { type, version } of readLogFiles({ vfs: nodeVfs(), dir: join(dataDir, 'wal') }))
    if (type === 18) versions.push(version)
  t.strictSame(versions, [1, 4])
  const [unit, long] = await collection.get(['unit', 'long'])
  t.strictSame([unit?.dense.v?.norm, long?.dense.v?.norm], [1, 5])
  t.equal(bitsOf(long?.dense.v?.row), bitsOf([0.6, 0.8]), 'a client that knows directions and lengths gets both')
})

test('a field without originals returns its rows times their norms', async (t) => {
  const params = { dimension, space_type: 'cosine', precision: 'float32', keep_originals: false } as const
  const small = { ...params, precision: 'int8' } as const
  const fields = [
    { name: 'float32_cosine', type: 'vector', params },
    { name: 'int8_cosine', type: 'vector', params: small },
  ] as const
  const collection = await openCollection(t, fields)
  const random = seededRandom(seed + 2)
  const given = someGiven(random, 'cosine', count).map(({ id, dense }) => ({
    id,
    fields: Object.fromEntries(fields.map(({ name }) => [name, Array.from(dense[name]?.sent as Float32Array)])),
  }))
  await collection.upsert(given)
  const check = async (what: string) => {
    const far: string[] = []
    for (const { id, fields } of given) {
      const [object] = await collection.get([id])
      for (const [name, error] of [
        ['float32_cosine', 2 ** -22],
        ['int8_cosine', 0.05],
      ] as const) {
        const length = Math.hypot(...(fields[name] as number[]))
        const vector = object?.dense[name]?.vector as Float32Array
        const distance = Math.hypot(...(fields[name] as number[]).map((x, i) => x - (vector[i] as number)))
        if (distance > error * length + 1e-44) far.push(`${id}.${name}: ${distance} of ${length}`)
      }
    }
    t.strictSame(far.slice(0, 3), [], what)
  }
  await check('after the writes')
  t.match(collection.describe().fields[1], { params: { keepOriginals: false } })
  await collection.rebuild()
  await check('after a rebuild')
  t.match(collection.describe().fields[1], { params: { keepOriginals: false } })
  const { results } = await collection.search({
    fields: { int8_cosine: { query: given[7]?.fields.int8_cosine as number[] } },
    rescore: true,
    includeVectors: true,
  })
  t.equal(results.int8_cosine?.length, 10, 'rescore has nothing to compare with and changes nothing')
})

test('keep_originals must be true or false, and a multi-vector field requires true', async (t) => {
  // Types that the compiler rejects are checked at run time as well.
  const field = (type: string, keep_originals: unknown) =>
    [{ name: 'v', type, params: { dimension: 2, keep_originals } }] as FieldDefinition[]
  const error = { code: 'invalid_argument', details: { field: 'fields[0].params.keep_originals' } }
  await t.rejects(openCollection(t, field('vector', 'no')), error)
  await t.rejects(openCollection(t, field('multi_vector', false)), error)
  const { fields } = (await openCollection(t, field('vector', true))).describe()
  t.notOk('keepOriginals' in (fields[0] as { params: object }).params)
})
