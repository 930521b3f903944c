// History keeps to its limits: an age, a size, a share of the free disk. It says where it begins and why, counts no file that is
// needed anyway, and ends where it is turned off.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import { nodeVfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { denseField, someVector, temporaryDirectory } from './rig.ts'

tap.setTimeout(120_000)
const seed = chosenSeed()
const hourMs = 3_600_000

/** A directory that is opened again and again, so that each life has a segment of its own; time passes as the test wants. */
class Life {
  readonly dataDir: string
  readonly random: Random
  nowMs = 1_700_000_000_000
  free = 1e12

  constructor(dataDir: string, random: Random) {
    this.dataDir = dataDir
    this.random = random
  }

  async open(archive: EngineOptions['archive']): Promise<Engine> {
    const clock = { now: () => this.nowMs }
    const vfs = { ...nodeVfs(), freeBytes: async () => this.free }
    const engine = await openEngine({ dataDir: this.dataDir, threads: 1, clock, archive }, { vfs })
    const database = engine.database()
    if (database.collections().length === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
    return engine
  }

  async write(engine: Engine): Promise<void> {
    const meta = { text: 'x'.repeat(10_000) }
    const objects = Array.from({ length: 20 }, (_, i) => ({
      id: `o${i}`,
      meta,
      fields: { v: someVector(this.random) },
    }))
    await engine.database().collection('a').upsert(objects)
    await engine.checkpoint()
    this.nowMs += hourMs
  }

  /** As many lives of one write each; gives what the last one says of history. */
  async live(archive: EngineOptions['archive'], lives: number) {
    let reach: ReturnType<Engine['stats']>['reach']
    for (let i = 0; i < lives; i++) {
      const engine = await this.open(archive)
      await this.write(engine)
      reach = engine.stats().reach
      await engine.close()
    }
    return reach
  }

  async archived(): Promise<number> {
    const names = ['wal', 'checkpoints'].map((name) => readdir(join(this.dataDir, 'archive', name)).catch(() => []))
    return (await Promise.all(names)).flat().length
  }
}

async function lifeOf(t: Test, more: number): Promise<Life> {
  return new Life(join(await temporaryDirectory(t), 'data'), seededRandom(seed + more))
}

test(`history reports where it begins and why, seed ${seed}`, async (t) => {
  const life = await lifeOf(t, 0)
  const limits = { maxBytes: 1e12, maxAgeMs: 5 * hourMs }
  t.match(await life.live(limits, 3), { lsn: 0, timeMs: 0, begins: 'first-record', maxAgeMs: 5 * hourMs })
  const aged = await life.live(limits, 12)
  t.match(aged, { begins: 'age' })
  t.ok(aged && aged.timeMs <= life.nowMs - 5 * hourMs && aged.timeMs > life.nowMs - 12 * hourMs, 'as old as wanted')
  const all = aged?.bytes ?? 0
  const sized = await life.live({ ...limits, maxBytes: all / 3 }, 1)
  t.match(sized, { begins: 'size' })
  t.ok(sized && sized.bytes > 0 && sized.bytes <= all / 3, `${sized?.bytes} of ${all} bytes`)
  await life.live(limits, 6)
  life.free = 1e9
  const shared = await life.live({ ...limits, freeShareMax: all / 3 / (1e9 + all) }, 1)
  t.match(shared, { begins: 'size' })
  t.ok(shared && shared.bytes <= all / 2, `${shared?.bytes} of ${all} bytes by the share of the free disk`)
})

test('history that is enabled begins at that moment, and disabling it removes it', async (t) => {
  const life = await lifeOf(t, 1)
  await life.live(undefined, 6)
  t.equal(await life.archived(), 0)
  const limits = { maxBytes: 1e12, maxAgeMs: 100 * hourMs }
  const on = await life.live(limits, 3)
  t.match(on, { begins: 'start' })
  t.ok(on && on.timeMs > 0 && (await life.archived()) > 0)
  const engine = await life.open(limits)
  const { lsn } = engine.database().collection('a').describe()
  await engine.database().backups.restorePast('a', 'past', { lsn: Math.max(on?.lsn ?? 0, lsn - 1) })
  await engine.database().deleteCollection('past')
  await engine.close()
  // An open without history settings keeps the existing history, which ends where segments were not archived.
  const before = await life.archived()
  await life.live(undefined, 1)
  t.equal(await life.archived(), before)
  await life.live(undefined, 5)
  const again = await life.live(limits, 1)
  t.ok(again && on && again.lsn > on.lsn, 'a gap is where it begins')
  t.match(await life.live({ maxBytes: 1e12, maxAgeMs: 0 }, 1), undefined)
  t.equal(await life.archived(), 0)
})

test('a collection without writes adds nothing to the size of history', async (t) => {
  const life = await lifeOf(t, 2)
  const limits = { maxBytes: 1e12, maxAgeMs: 1e12 }
  const engine = await life.open(limits)
  const idle = await engine.database().createCollection({ name: 'idle', fields: [denseField()] })
  const meta = { text: 'y'.repeat(50_000) }
  await idle.upsert(
    Array.from({ length: 40 }, (_, i) => ({ id: `o${i}`, meta, fields: { v: someVector(life.random) } })),
  )
  for (let i = 0; i < 6; i++) {
    await engine
      .database()
      .collection('a')
      .upsert([{ id: `${i}`, fields: { v: someVector(life.random) } }])
    await engine.checkpoint()
  }
  t.ok((engine.stats().reach?.bytes ?? Infinity) < 1_000_000, `${engine.stats().reach?.bytes} bytes`)
  await engine.close()
})
