// Every kind of event of a log is in a trace, anonymized or not, and replays to the same state; and a window that begins after it begins with
// what it led to. The kinds that are left out are named here.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { engineTarget, openTrace, recordTrace, replayTrace } from '@annal/replay'
import tap, { type Test, test } from 'tap'
import { type EventKind, everyKind, liveThroughAll, type Moment } from '../../engine/test/events/every-kind.ts'
import { openAt, TestClock } from '../../engine/test/expiry/rig.ts'
import { inDirectory } from './rig.ts'

// A loaded machine is slow.
tap.setTimeout(900_000)

/** A trace holds no images. */
const neverInTraces: readonly EventKind[] = ['collection-restored']
/** What an anonymized trace leaves out, because it is about people, and changes no collection. A place for later kinds. */
const notInAnonymized: readonly EventKind[] = [
  'cursor-put',
  'cursor-dropped',
  'database-changed',
  'request-answered',
  'setting-put',
  'token-put',
  'token-dropped',
]
/** What people wrote in the log of `liveThroughAll`. */
const words = ['films', 'trial', 'films_old', 'copy', 'live', 'music', 'agent', 'operator', 'third', 'theme', 'upsert']

interface Lived {
  readonly clock: TestClock
  readonly engine: Engine
  readonly moments: readonly Moment[]
}

async function lived(dataDir: string): Promise<Lived> {
  const clock = new TestClock()
  const engine = await openAt(clock, dataDir, { keepLog: true, fsync: 'always' })
  return { clock, engine, moments: await liveThroughAll(engine, { clock, withoutImages: true }) }
}

/** Ids, meta, filter values, and expiries of every collection, its default expiry, the names, and the aliases with what they lead to. */
async function contentOf(engine: Engine, { withCursors }: { readonly withCursors: boolean }): Promise<unknown> {
  const database = engine.database()
  const collections: unknown[] = []
  for (const { name, ttlSeconds = null } of database.collections()) {
    const { objects } = await database.collection(name).scroll({ limit: 100 })
    const rows = objects.map(({ id, meta, filter, expiresAt, dense, sparse, multi }) => ({
      id,
      meta,
      filter,
      expiresAt,
      dense,
      sparse,
      multi,
    }))
    collections.push([name, ttlSeconds, rows.sort((a, b) => (a.id < b.id ? -1 : 1))])
  }
  const aliases = database.aliases().map(({ name, collection }) => [name, collection])
  const cursors = withCursors ? database.cursors.list().map(({ name }) => name) : []
  return JSON.parse(JSON.stringify({ collections: collections.sort(), aliases, cursors }))
}

async function kindsIn(path: string): Promise<EventKind[]> {
  const kinds = new Set<EventKind>()
  for await (const entry of (await openTrace(path)).entries()) if (entry.kind === 'event') kinds.add(entry.event.kind)
  return [...kinds].sort()
}

async function replayed(t: Test, clock: TestClock, path: string, dataDir: string): Promise<Engine> {
  const target = await engineTarget({ dataDir, threads: 1, fsync: 'none' })
  await replayTrace(await openTrace(path), target, { stretches: 1, compared: 1 })
  await target.close()
  const engine = await openEngine({ dataDir, threads: 1, clock })
  t.teardown(() => engine.close())
  return engine
}

test('a trace has every kind and replays to the same digests', async (t) => {
  await inDirectory(async (dir) => {
    const { clock, engine } = await lived(join(dir, 'live'))
    const path = join(dir, 'all.trace')
    await recordTrace({ dataDir: join(dir, 'live'), out: path })
    const expected = everyKind.filter((kind) => !neverInTraces.includes(kind)).sort()
    t.strictSame(await kindsIn(path), expected)
    const again = await replayed(t, clock, path, join(dir, 'again'))
    for (const { name } of engine.database().collections())
      t.equal(again.database().collection(name).stateDigest(), engine.database().collection(name).stateDigest(), name)
    t.strictSame(await contentOf(again, { withCursors: true }), await contentOf(engine, { withCursors: true }))
    await again.close()
    await engine.close()
  })
})

test('an anonymized trace has every kind but those named here, no word of the log, and replays', async (t) => {
  await inDirectory(async (dir) => {
    const { clock, engine } = await lived(join(dir, 'live'))
    const path = join(dir, 'anonymous.trace')
    await recordTrace({ dataDir: join(dir, 'live'), out: path, anonymize: { rotate: false } })
    const left = [...neverInTraces, ...notInAnonymized]
    t.strictSame(await kindsIn(path), everyKind.filter((kind) => !left.includes(kind)).sort())
    const text = (await readFile(path)).toString('latin1')
    for (const word of words) t.notOk(text.includes(word), word)
    const again = await replayed(t, clock, path, join(dir, 'again'))
    const counts = (one: Engine) =>
      one
        .database()
        .collections()
        .map(({ objects }) => objects)
    t.strictSame(counts(again), counts(engine))
    t.equal(again.database().aliases().length, engine.database().aliases().length)
    await again.close()
    await engine.close()
  })
})

test('a window after any kind begins with what was there', async (t) => {
  await inDirectory(async (dir) => {
    const { clock, engine, moments } = await lived(join(dir, 'live'))
    const expected = await contentOf(engine, { withCursors: true })
    for (const { kind, lsn } of moments.slice(0, -1)) {
      const path = join(dir, `${kind}.trace`)
      await recordTrace({ dataDir: join(dir, 'live'), out: path, lsnFrom: lsn + 1 })
      const again = await replayed(t, clock, path, join(dir, kind))
      t.strictSame(await contentOf(again, { withCursors: true }), expected, `after ${kind}`)
      await again.close()
    }
    await engine.close()
  })
})
