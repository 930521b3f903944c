// Arguments that the caller changes while a call runs: in the same turn, after some promises, and in later turns, with vectors in memory of
// their own and in shared memory. What was given when the call began is stored or searched, and the log has the same as the replica. Another
// thread that writes to a shared vector meanwhile cannot make them differ.
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { type Collection, type Database, openEngine } from '../src/index.ts'
import { temporaryDirectory } from './backup/rig.ts'

const dimension = 16
const params = (precision: 'float32' | 'int8' | 'binary', spaceType: 'l2' | 'cosine' | 'ip') => {
  return { dimension, spaceType, precision, M: 4, efConstruction: 16 } as const
}
const fields = [
  { name: 'v', type: 'vector', params: params('float32', 'l2') },
  { name: 'w', type: 'vector', params: params('int8', 'cosine') },
  { name: 'b', type: 'vector', params: params('binary', 'ip') },
  { name: 'm', type: 'multi_vector', params: params('int8', 'cosine') },
  { name: 's', type: 'sparse', params: {} },
  { name: 't', type: 'text' },
] as const

/** When the caller changes its arguments. */
const moments: Readonly<Record<string, (change: () => void) => void>> = {
  'in the same turn': (change) => change(),
  'in a microtask': (change) => queueMicrotask(change),
  'before the next turn': (change) => process.nextTick(change),
  'in the next turn': (change) => void setImmediate(change),
}

function vectorOf(n: number, isShared: boolean): Float32Array<ArrayBuffer> {
  const bytes = 4 * dimension
  // Types of the library know no shared memory; callers without types may give it.
  const buffer = (isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes)) as ArrayBuffer
  return new Float32Array(buffer).map((_, i) => Math.sin((n + 1) * (i + 1)))
}

function objectOf(n: number, isShared: boolean) {
  // A view: `map` above made memory of its own.
  const vector = (more: number) => {
    const values = vectorOf(n + more, isShared)
    if (!isShared) return values
    const shared = new Float32Array(new SharedArrayBuffer(4 * dimension) as unknown as ArrayBuffer)
    shared.set(values)
    return shared
  }
  return {
    id: `o${n}`,
    meta: { n, list: [1, 2] },
    filter: { third: n % 3, tag: 'given' },
    fields: {
      v: vector(0),
      w: { vector: vector(0.5), norm: 2 },
      b: vector(0.1),
      m: [vector(0.2), vector(0.7)],
      s: { indices: new Uint32Array([n % 7, 10 + (n % 5)]), values: new Float32Array([1, 0.5]) },
      t: `word${n} and more`,
    },
  }
}

function spoil(objects: ReturnType<typeof objectOf>[]): void {
  for (const object of objects) {
    object.id = 'spoiled'
    Object.assign(object.meta, { n: -1 })
    object.meta.list.push(9)
    Object.assign(object.filter, { third: 77, tag: 'spoiled' })
    const { v, w, b, m, s } = object.fields
    for (const vector of [v, w.vector, b, ...m]) vector.fill(7)
    Object.assign(w, { norm: 9 })
    m.pop()
    s.indices.fill(3)
    s.values.fill(9)
    object.fields.t = 'spoiled'
  }
  objects.length = 0
}

async function contentOf(collection: Collection): Promise<unknown> {
  const { objects } = await collection.scroll({
    limit: 500,
    include: { meta: true, filter: true, vectors: true },
  } as never)
  const plain = (_: string, value: unknown) => (ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value)
  return objects.map(({ lsn: _, ...object }) => JSON.parse(JSON.stringify(object, plain)))
}

/** Runs the calls with arguments of the collection `changed` that are changed, and of `kept` that are not. */
async function runBoth(database: Database, change: (act: () => void) => void, from: number): Promise<void> {
  const [changed, kept] = [database.collection('changed') as Collection, database.collection('kept') as Collection]
  for (const [i, isShared] of [false, true].entries()) {
    const make = (shared: boolean) => Array.from({ length: 5 }, (_, n) => objectOf(from + 5 * i + n, shared))
    const given = make(isShared)
    const upserted = changed.upsert(given as never)
    change(() => spoil(given))
    await upserted
    await kept.upsert(make(false) as never)
  }
  const calls: readonly ((collection: Collection) => { done: Promise<unknown>; spoil: () => void })[] = [
    (collection) => {
      const update = { id: `o${from}`, filter: { third: 5 } }
      const updates = [update]
      const spoilUpdate = () => {
        Object.assign(update, { id: `o${from + 1}` })
        update.filter.third = 99
        updates.length = 0
      }
      return { done: collection.updateFilters(updates), spoil: spoilUpdate }
    },
    (collection) => {
      const patch = { id: `o${from + 1}`, meta: { z: 1 } }
      const patches = [patch]
      const spoilPatch = () => {
        patch.id = `o${from}`
        patch.meta.z = 2
        patches.length = 0
      }
      return { done: collection.patch(patches), spoil: spoilPatch }
    },
    (collection) => {
      const ids = [`o${from + 2}`]
      return { done: collection.delete(ids), spoil: () => ids.splice(0, 1, `o${from}`) }
    },
    (collection) => {
      const equal = { $eq: 5 }
      const filter = [{ third: equal }]
      const spoilFilter = () => {
        equal.$eq = 0
        filter.length = 0
      }
      return { done: collection.deleteWhere(filter), spoil: spoilFilter }
    },
  ]
  for (const call of calls) {
    const { done, spoil: spoilIt } = call(changed)
    change(spoilIt)
    await done
    await call(kept).done
  }
}

test('arguments that are changed during a call have no effect, in the replica and in the log', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data')
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const database = engine.database()
  for (const name of ['changed', 'kept']) await database.createCollection({ name, fields })
  const collection = database.collection('changed') as Collection
  let from = 0
  for (const [when, change] of Object.entries(moments)) {
    await runBoth(database, change, from)
    t.same(await contentOf(collection), await contentOf(database.collection('kept') as Collection), when)
    const ids = [`o${from + 3}`, `o${from + 4}`]
    const [wanted, query] = [ids.join(), vectorOf(from + 3, false)]
    const found = collection.getMany(ids)
    change(() => ids.splice(0, 2, 'o0'))
    t.equal((await found).map(({ id }) => id).join(), wanted, `getMany, ${when}`)
    const request = { fields: { v: { query, limit: 1 } } }
    const hits = collection.searchBatch([request] as never)
    change(() => void query.fill(0))
    t.equal((await hits)[0]?.results.v?.[0]?.id, `o${from + 3}`, `searchBatch, ${when}`)
    from += 10
  }
  const shared = new SharedArrayBuffer(4 * dimension * 60)
  const flips = 'const a = new Float32Array(require("node:worker_threads").workerData)'
  const code = `${flips}; for (let i = 0; ; i += 7) a[i % a.length] = [NaN, 1, 2, Infinity, -3, 4][i % 6]`
  const worker = new Worker(code, { eval: true, workerData: shared })
  for (let round = 0; round < 40; round++) {
    const view = (n: number) => new Float32Array(shared as unknown as ArrayBuffer, 4 * dimension * n, dimension)
    const objects = Array.from({ length: 5 }, (_, i) => ({
      id: `r${i}`,
      fields: { v: view(i), w: view(i + 20), b: view(i + 40) },
    }))
    await collection.upsert(objects as never).catch((error) => t.match(error, { code: 'invalid_argument' }))
  }
  await worker.terminate()
  const digest = collection.stateDigest()
  const copy = `${dataDir}-copy`
  await engine.checkpoint().catch(() => undefined)
  await cp(dataDir, copy, { recursive: true })
  for (const name of ['LOCK', 'checkpoints', 'originals']) await rm(join(copy, name), { recursive: true, force: true })
  const replayed = await openEngine({ dataDir: copy, threads: 1 })
  t.equal(replayed.database().collection('changed').stateDigest(), digest, 'the log has what the replica has')
  await replayed.close()
})
