// Every kind of event of the log is documented, named, and part of every way that leads to a state: the log alone, a checkpoint, a restore
// of the directory, a moment, a backup, a clone, a follower. A kind that is added and missing in one of them fails here.
import { readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { type Engine, openEngine, restoreDataDirectory, verifyDataDirectory } from '@annal/engine'
import { decodeEvent, encodeEvent } from '@annal/engine/events'
import tap, { type Test, test } from 'tap'
import { changeKinds, eventKinds } from '../../src/events/codec.ts'
import { temporaryDirectory } from '../backup/rig.ts'
import { openAt, TestClock } from '../expiry/rig.ts'
import { openNode, simulate } from '../replicated/nodes.ts'
import { SharedMemory, SharedView } from '../replicated/shared-memory.ts'
import {
  archive,
  digestsOf,
  type EventKind,
  everyKind,
  kindsInImages,
  liveThroughAll,
  type Moment,
  recordsOf,
  seenIn,
} from './every-kind.ts'

// A loaded machine is slow.
tap.setTimeout(900_000)

interface Lived {
  readonly dir: string
  /** As a kill would leave it. */
  readonly dataDir: string
  readonly moments: readonly Moment[]
  readonly digests: string
  readonly seen: unknown
}

async function lived(t: Pick<Test, 'teardown'>): Promise<Lived> {
  const dir = await temporaryDirectory(t)
  const engine = await openAt(clock, join(dir, 'live'), { archive, keepLog: true, fsync: 'always' })
  const moments = await liveThroughAll(engine, { clock, midway: () => engine.checkpoint() })
  const [digests, seen] = [digestsOf(engine), await seenIn(engine.database())]
  const dataDir = join(dir, 'killed')
  await cp(join(dir, 'live'), dataDir, { recursive: true })
  await engine.close()
  return { dir, dataDir, moments, digests, seen }
}

const clock = new TestClock()
const life = await lived(tap)
const { lsn: lsnLast } = life.moments.at(-1) as Moment

/** Kinds that only images have. */
const inImages: readonly EventKind[] = ['expiries-cleared']
const loggedKinds = eventKinds.filter((kind) => !inImages.includes(kind))

/** Opens a copy of the directory. */
async function opened(t: Test, change?: (dataDir: string) => Promise<unknown>): Promise<Engine> {
  const dataDir = join(await temporaryDirectory(t), 'data')
  await cp(life.dataDir, dataDir, { recursive: true })
  await change?.(dataDir)
  const engine = await openEngine({ dataDir, threads: 1, archive, keepLog: true, clock })
  t.teardown(() => engine.close())
  return engine
}

async function same(t: Test, engine: Engine): Promise<void> {
  t.strictSame(engine.health().reasons, [])
  t.equal(digestsOf(engine), life.digests)
  t.strictSame(await seenIn(engine.database()), life.seen)
}

test('a life writes every kind of event, and authors', async (t) => {
  t.strictSame([...everyKind].sort(), [...loggedKinds].sort(), 'the table has every kind that the codec knows')
  const { kinds, actors } = await recordsOf(life.dataDir, lsnLast)
  t.strictSame([...kinds].sort(), [...loggedKinds].sort())
  const imaged = await kindsInImages(life.dataDir)
  for (const kind of inImages) t.ok(imaged.has(kind), `an image has ${kind}`)
  t.strictSame([...actors].sort(), ['agent 1', 'agent 2', 'agent 3', 'operator'])
})

test('every kind has a row in the page of events, and a message in the schema', async (t) => {
  const page = readFileSync(new URL('../../../../docs/formats/events.md', import.meta.url), 'utf8')
  const proto = readFileSync(new URL('../../src/events/events.proto', import.meta.url), 'utf8')
  const types = new Map<EventKind, number>()
  for (const { kind, record } of recordsByKind()) types.set(kind, record.type)
  for (const [kind, type] of types) {
    const message = kind.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
    t.match(page, new RegExp(`^\\| ${type} \\| ${message} \\| .{10}`, 'm'), `${kind} in docs/formats/events.md`)
    t.match(proto, new RegExp(`^message ${message} \\{`, 'm'), `${kind} in events.proto`)
  }
  t.equal(new Set(types.values()).size, eventKinds.length, 'no number is used twice')
})

function recordsByKind() {
  const base = { timeMs: 1, collectionId: 1, databaseId: 1, name: 'a', ids: [], metas: [], filters: [], fields: [] }
  const columns = {
    dense: [],
    sparse: [],
    multi: [],
    text: [],
    deleted: [],
    asOfLsn: 1,
    collectionIds: [],
    targetId: 1,
  }
  const rest = { promotedId: 1, replacedId: 2, keptAs: 'b', importId: 'c', imageSha256: '', digest: '', lsn: 1 }
  const control = { key: 'k', value: 'v', type: 'pro', active: true, hashSeed: { low: 0, high: 0 } }
  const token = { name: 't', kind: 'r', hash: 'a'.repeat(64) }
  return eventKinds.map((kind) => {
    // Has every field that some event has.
    const event = { kind, ...base, ...columns, ...rest, ...control, token }
    return { kind, record: encodeEvent(event as unknown as Parameters<typeof encodeEvent>[0]) }
  })
}

test('a start leads to the state from the checkpoint, and from the log alone', async (t) => {
  await same(t, await opened(t))
  await same(t, await opened(t, (dataDir) => rm(join(dataDir, 'checkpoints'), { recursive: true })))
})

test('a checkpoint holds what every kind leads to', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data')
  await cp(life.dataDir, dataDir, { recursive: true })
  const options = { dataDir, threads: 1, archive, clock }
  const engine = await openEngine(options)
  await engine.checkpoint()
  await engine.close()
  const again = await openEngine(options)
  t.teardown(() => again.close())
  await same(t, again)
})

test('verify finds no damage, and every way leads to one state', async (t) => {
  const scratchDir = await temporaryDirectory(t)
  const { findings, states } = await verifyDataDirectory({ dataDir: life.dataDir, deep: true, threads: 1, scratchDir })
  t.strictSame(
    findings.filter(({ severity }) => severity === 'damage'),
    [],
  )
  t.ok(states.length >= 2)
})

for (const [i, kind] of everyKind.entries())
  test(`a directory is restored as of a record after ${kind}`, async (t) => {
    const { lsn, state } = life.moments[i] as Moment
    const to = join(await temporaryDirectory(t), 'restored')
    await restoreDataDirectory({ from: life.dataDir, to, lsn })
    const engine = await openEngine({ dataDir: to, threads: 1 })
    t.teardown(() => engine.close())
    t.equal(digestsOf(engine), state)
  })

test('reads as of a moment, moments, backups, and clones have the content', async (t) => {
  const engine = await opened(t)
  const database = engine.database()
  const { backups } = database
  for (const { name } of database.collections()) {
    const digest = database.collection(name).stateDigest()
    const content = await contentOf(database.collection(name))
    const { name: backup } = await backups.create(name, `b_${name}`)
    await backups.settled()
    t.same(backups.status().status, 'completed', name)
    await backups.restore(backup, `${name}_1`)
    await backups.clone(name, `${name}_2`)
    await database.collection(`${name}_2`).served()
    await backups.restorePast(name, `${name}_3`, { lsn: engine.lsnApplied })
    for (const one of [1, 2, 3]) t.equal(database.collection(`${name}_${one}`).stateDigest(), digest, `${name}_${one}`)
    const past = await database.asOf(name, { lsn: lsnLast })
    t.strictSame(await contentOf(past), content)
  }
})

async function contentOf(collection: { scroll: (request: object) => Promise<{ objects: readonly object[] }> }) {
  return JSON.parse(JSON.stringify((await collection.scroll({ limit: 100 })).objects))
}

test('the history of the database lists every kind, and the change feed those of collections', async (t) => {
  const engine = await opened(t)
  const kinds = new Set<string>()
  for (const name of ['default', 'music']) {
    const { events } = await engine.database(name).history.events({ from: 1, limit: 500 })
    for (const { kind } of events) kinds.add(kind)
  }
  // Settings belong to no database, a deleted database has no history, and a record without an effect has no database.
  const hidden = ['database-dropped', 'request-answered', 'setting-put']
  t.strictSame([...kinds, ...hidden].sort(), [...loggedKinds].sort())
  const fed = new Set<string>()
  for await (const { changes, lsn } of engine.database().changes({ from: 1 }).batches()) {
    for (const { kind } of changes) fed.add(kind)
    if (lsn >= engine.lsnApplied) break
  }
  t.strictSame([...fed].sort(), [...changeKinds].sort())
})

test('a follower applies every kind', async (t) => {
  const [world, memory, ofNodes] = [simulate(t, 1), new SharedMemory(), new TestClock()]
  const open = async () => {
    const shared = new SharedView(memory)
    const node = await openNode(t, world, { shared, clock: ofNodes }, { expiryEveryMs: 5 })
    t.teardown(() => shared.close())
    return node
  }
  const [leader, follower] = [await open(), await open()]
  await leader.lead(1)
  await liveThroughAll(leader.engine, { clock: ofNodes })
  await follower.engine.whenApplied(leader.engine.lsnApplied, 60_000)
  // Branches are loaded after their record is applied.
  for (const { name } of leader.engine.database().collections())
    await follower.engine.database().collection(name).served()
  t.equal(digestsOf(follower.engine), digestsOf(leader.engine))
  t.strictSame(await seenIn(follower.engine.database()), await seenIn(leader.engine.database()))
})

/** A directory of a payload version. A later version has its own, and each must open forever. */
interface GoldenVersion {
  readonly version: number
  /** Kinds of the log that the version does not have. */
  readonly laterKinds: readonly EventKind[]
  readonly actors: number
}

const goldenVersions: readonly GoldenVersion[] = [
  { version: 8, laterKinds: ['objects-expired'], actors: 4 },
  { version: 9, laterKinds: [], actors: 4 },
  { version: 10, laterKinds: [], actors: 4 },
]
const fileOf = (version: number) => new URL(`../golden/every-kind-${version}.json.br`, import.meta.url)

interface Golden {
  /** The last record. */
  readonly lsn: number
  readonly digests: string
  readonly seen: unknown
  /** By path, in base64. */
  readonly files: Readonly<Record<string, string>>
}

/** Writes the directory of a version. */
async function unpacked(t: Test, version: number): Promise<Golden & { readonly dataDir: string }> {
  // Ours, made by `packed`.
  const golden = JSON.parse(brotliDecompressSync(readFileSync(fileOf(version))).toString()) as Golden
  const dataDir = join(await temporaryDirectory(t), 'data')
  for (const [name, content] of Object.entries(golden.files)) {
    await mkdir(dirname(join(dataDir, name)), { recursive: true })
    await writeFile(join(dataDir, name), Buffer.from(content, 'base64'))
  }
  return { ...golden, dataDir }
}

for (const { version, laterKinds, actors } of goldenVersions)
  test(`a directory with every kind of payload version ${version} opens with its content`, async (t) => {
    if (process.env.ANNAL_GOLDEN === 'write' && version === goldenVersions.at(-1)?.version)
      writeFileSync(fileOf(version), brotliCompressSync(JSON.stringify(await packed(life))))
    const { digests, seen, lsn, dataDir } = await unpacked(t, version)
    const records = await recordsOf(dataDir, lsn)
    t.strictSame([...records.kinds, ...laterKinds].sort(), [...loggedKinds].sort(), 'it has every kind')
    t.equal(Math.max(...records.versions), version, 'an earlier version refuses it')
    t.equal(records.actors.size, actors, 'it has authors')
    if (!laterKinds.includes('objects-expired')) {
      const imaged = await kindsInImages(dataDir)
      for (const kind of inImages) t.ok(imaged.has(kind), `an image has ${kind}`)
    }
    const damage = (await verifyDataDirectory({ dataDir, deep: true, threads: 1, scratchDir: dirname(dataDir) }))
      .findings
    t.strictSame(
      damage.filter(({ severity }) => severity === 'damage'),
      [],
    )
    for (let start = 0; start < 2; start++) {
      // The clock of then: what has expired since would be hidden.
      const engine = await openEngine({ dataDir, threads: 1, archive, keepLog: true, clock })
      t.strictSame(engine.health().reasons, [])
      t.equal(digestsOf(engine), digests)
      t.strictSame(await seenIn(engine.database()), seen)
      await engine.close()
    }
  })

test('the newest golden directory has the newest payload version', async (t) => {
  const newest = goldenVersions.at(-1)?.version as number
  const { versions } = await recordsOf(life.dataDir, lsnLast)
  t.equal(Math.max(...versions), newest, 'no life of today writes a newer one')
  const [{ record }] = recordsByKind() as [ReturnType<typeof recordsByKind>[number]]
  const payload = record.payload as Uint8Array
  t.doesNotThrow(() => decodeEvent({ ...record, version: newest, payload }))
  t.throws(() => decodeEvent({ ...record, version: newest + 1, payload }), { code: 'format_too_new' })
})

async function packed({ dataDir, digests, seen }: Lived): Promise<Golden> {
  const files: Record<string, string> = {}
  for (const name of (await readdir(dataDir, { recursive: true })).sort()) {
    const path = join(dataDir, name)
    if (name !== 'LOCK' && (await stat(path)).isFile()) files[name] = (await readFile(path)).toString('base64')
  }
  return { lsn: lsnLast, digests, seen, files }
}
