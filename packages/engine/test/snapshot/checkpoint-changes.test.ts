// Checkpoints that contain only what changed in a graph: which files they have, how they are chained and when a part is written whole again,
// that a start from one has the same state, and that damage of any of its files leads to an earlier way back.
import { cp, mkdtemp, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openEngine } from '../../src/engine.ts'
import type { DeltaLimits } from '../../src/snapshot/delta-limits.ts'
import { changesWorth, usualDeltaLimits } from '../../src/snapshot/delta-limits.ts'
import type { Manifest, ManifestCollection } from '../../src/snapshot/manifest.ts'
import { eagerDeltas } from './eager-deltas.ts'

tap.setTimeout(1_200_000)

const isLong = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

const graph = { dimension: 8, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 16 } as const
const fields = [
  { name: 'v', type: 'vector', params: graph },
  { name: 's', type: 'sparse' },
] as const

interface World {
  readonly dataDir: string
  engine: Engine
  write(count: number): Promise<void>
  /** The parts of the only collection in the newest checkpoint. */
  newest(): Promise<ManifestCollection>
  digest(): string
  close(): Promise<void>
}

async function openWorld(
  t: Test,
  options: { readonly deltas?: DeltaLimits; readonly keepLog?: boolean } = {},
): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-changes-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  const { deltas = eagerDeltas, keepLog = false } = options
  const engine = await openEngine({ dataDir, fsync: 'none', keepLog }, { pool, deltas })
  await engine.database().createCollection({ name: 'c', fields })
  const random = seededRandom(seed)
  let next = 0
  const world: World = {
    dataDir,
    engine,
    async write(count) {
      await collectionOf(world.engine).upsert(Array.from({ length: count }, () => objectOf(next++, random)))
      await collectionOf(world.engine)
        .delete([`${random.below(next) % 900}`])
        .catch(() => undefined)
    },
    newest: async () => (await manifestsIn(dataDir)).at(-1)?.manifest.collections[0] as ManifestCollection,
    digest: () => collectionOf(world.engine).stateDigest(),
    close: () => world.engine.close(),
  }
  return world
}

function collectionOf(engine: Engine) {
  return engine.database().collection('c')
}

function objectOf(n: number, random: Random) {
  const v = Array.from({ length: graph.dimension }, () => random.below(1_000) / 1_000)
  return { id: `${n % 900}`, meta: { n }, filter: { n }, fields: { v, s: { indices: [n % 5], values: [1] } } }
}

async function manifestsIn(
  dataDir: string,
): Promise<{ readonly path: string; readonly format: number; readonly manifest: Manifest }[]> {
  const dir = join(dataDir, 'checkpoints')
  const names = (await readdir(dir)).sort()
  return Promise.all(
    names.map(async (name) => ({
      path: join(dir, name),
      ...(JSON.parse(await readFile(join(dir, name, 'manifest.json'), 'utf8')) as {
        format: number
        manifest: Manifest
      }),
    })),
  )
}

/** Starts a copy of the directory as a kill leaves it. */
async function startOfCopy(dataDir: string, change: (copy: string) => Promise<void> = async () => undefined) {
  const copy = `${dataDir}-copy`
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'LOCK'), { force: true })
  await change(copy)
  const engine = await openEngine({ dataDir: copy, threads: 1 }, { pool, readOnly: true })
  const { status, reasons } = engine.health()
  const digest =
    status === 'ok' || status === 'degraded'
      ? await Promise.resolve()
          .then(() => collectionOf(engine).stateDigest())
          .catch((error: Error) => error.message)
      : ''
  await engine.close()
  const verified = await verifyDataDirectory({ dataDir: copy })
  await rm(copy, { recursive: true })
  return { digest, reasons, isGood: verified.isGood }
}

test('a checkpoint has the part and its changes, a start from it has the same state, and it goes on after a start', async (t) => {
  const world = await openWorld(t)
  await world.write(600)
  await world.engine.checkpoint()
  const whole = await world.newest()
  t.strictSame(
    whole.files.map(({ deltas }) => deltas),
    [undefined, undefined, undefined],
  )
  t.equal((await manifestsIn(world.dataDir)).at(-1)?.format, 4, 'readable by the version before')
  await world.write(30)
  await world.engine.checkpoint()
  const first = await world.newest()
  t.match(first.files, [
    { part: 0, deltas: undefined, lsn: undefined },
    { part: 1, lsn: whole.lsn, sum: whole.files[1]?.sum, deltas: [{ lsn: first.lsn }] },
    { part: 2, deltas: undefined, lsn: undefined },
  ])
  t.equal((await manifestsIn(world.dataDir)).at(-1)?.format, 5)
  const [file, changes] = [first.files[1], first.files[1]?.deltas?.[0]]
  t.ok((changes?.bytes ?? 0) < (file?.bytes ?? 0), `${changes?.bytes} of ${file?.bytes} bytes`)
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })

  const digest = world.digest()
  await world.close()
  world.engine = await openEngine({ dataDir: world.dataDir, fsync: 'none' }, { pool, deltas: eagerDeltas })
  t.equal(world.digest(), digest)
  await world.write(20)
  await world.engine.checkpoint()
  const second = await world.newest()
  t.equal(second.files[1]?.sum, file?.sum, 'the same part')
  t.equal(second.files[1]?.deltas?.length, 2)
  t.strictSame(second.files[1]?.deltas?.[0], changes)
  const inode = async (name: string) => (await stat(join(name))).ino
  const [older, newer] = (await manifestsIn(world.dataDir)).slice(-2).map(({ path }) => join(path, file?.name ?? ''))
  t.equal(await inode(older ?? ''), await inode(newer ?? ''), 'linked, not written')
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })

  await collectionOf(world.engine).rebuild()
  await world.engine.checkpoint()
  t.notOk((await world.newest()).files[1]?.deltas, 'a rebuild makes a part that shares nothing with the one before')
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })
  await world.close()
})

test('a part is written whole when its changes are many, large, or those of a small part', async (t) => {
  const world = await openWorld(t)
  await world.write(600)
  const counts: number[] = []
  for (let i = 0; i < 6; i++) {
    await world.write(5)
    await world.engine.checkpoint()
    counts.push((await world.newest()).files[1]?.deltas?.length ?? 0)
  }
  t.strictSame(counts, [0, 1, 2, 3, 0, 1])
  await world.close()

  const usual = await openWorld(t, { deltas: { ...usualDeltaLimits, partBytesMin: 1 } })
  await usual.write(800)
  await usual.engine.checkpoint()
  await usual.write(800)
  await usual.engine.checkpoint()
  t.notOk((await usual.newest()).files[1]?.deltas, 'more than half of the part')
  await usual.close()

  const of = (bytes: number, ...sizes: number[]) => ({
    ...{ name: 'a', part: 1, bytes, sum: '' },
    deltas: sizes.map((size) => ({ name: 'b', lsn: 1, bytes: size, sum: '' })),
  })
  const limits = { partBytesMin: 100, shareMax: 1 / 2, countMax: 3 }
  t.strictSame(
    [of(99), of(100), of(100, 20), of(100, 20, 40), of(1_000, 1, 1), of(1_000, 1, 1, 1)].map((one) =>
      changesWorth(one, limits),
    ),
    [0, 50, 30, 0, 498, 0],
  )
})

test('the log and the checkpoints that are kept lead to every collection without the files of the newest part', async (t) => {
  const world = await openWorld(t)
  await world.write(400)
  const sumsOf = async () => {
    const all = await manifestsIn(world.dataDir)
    return all.map(({ manifest }) => manifest.collections[0]?.files[1]?.sum)
  }
  await world.engine.checkpoint()
  for (let i = 0; i < 14; i++) {
    await world.write(10)
    await world.engine.checkpoint()
    const sums = await sumsOf()
    const newest = await world.newest()
    const isIndependent = new Set(sums).size > 1 || !newest.files[1]?.deltas?.length
    const all = await manifestsIn(world.dataDir)
    const first = Number(
      (await readdir(join(world.dataDir, 'wal')))
        .filter((name) => name.endsWith('.wal'))
        .sort()[0]
        ?.split('-')[1]
        ?.split('.')[0],
    )
    if (isIndependent) t.ok(all.length <= 3, `${all.length} are kept`)
    else t.equal(first, 1, 'the whole log is kept')
    t.ok(first <= (all[0]?.manifest.lsn ?? 0) + 1, 'the log goes on from the oldest')
    const digest = world.digest()
    // Whatever file of the newest checkpoint is damaged, under all its names.
    for (const name of [newest.files[1]?.name, newest.files[1]?.deltas?.at(-1)?.name, newest.files[0]?.name])
      if (name !== undefined && i % 3 === 2) {
        const started = await startOfCopy(world.dataDir, (copy) => damageEverywhere(world.dataDir, copy, name))
        t.equal(started.digest, digest, name)
        t.notOk(started.isGood)
      }
  }
  await world.close()
})

/** Cuts the file of the newest checkpoint in every checkpoint that links it. */
async function damageEverywhere(dataDir: string, copy: string, name: string): Promise<void> {
  const paths = (await manifestsIn(dataDir)).map(({ path }) => path)
  const { ino } = await stat(join(paths.at(-1) ?? '', name))
  for (const path of paths) {
    const held = await stat(join(path, name)).catch(() => undefined)
    if (held?.ino === ino) await truncate(join(copy, path.slice(dataDir.length), name), 100)
  }
}

test(`a file of changes with any byte flipped, cut at any length, missing, or exchanged leads to the checkpoint before, seed ${seed}`, async (t) => {
  const world = await openWorld(t, { keepLog: true })
  await world.write(300)
  await world.engine.checkpoint()
  await world.write(3)
  await world.engine.checkpoint()
  await world.write(3)
  await world.engine.checkpoint()
  await world.write(2)
  const digest = world.digest()
  const { path } = (await manifestsIn(world.dataDir)).at(-1) as { path: string }
  const [before, last] = (await world.newest()).files[1]?.deltas ?? []
  const file = join(path.slice(world.dataDir.length), last?.name ?? '')
  const bytes = await readFile(join(world.dataDir, file))
  const random = seededRandom(seed)
  const cases = isLong ? bytes.length : 40
  for (let i = 0; i < cases; i++) {
    const position = isLong ? i : i < 12 ? i * 8 : random.below(bytes.length)
    const changed = Uint8Array.from(bytes)
    changed[position]! ^= 1 << random.below(8)
    const found = await startOfCopy(world.dataDir, (copy) =>
      writeFile(join(copy, file), i % 2 === 0 ? changed : bytes.subarray(0, position)),
    )
    if (found.digest !== digest || found.isGood || found.reasons.length === 0)
      t.fail(`byte ${position}: ${JSON.stringify(found)}`)
  }
  for (const [what, change] of [
    ['missing', (copy: string) => rm(join(copy, file))],
    ['the changes before', (copy: string) => cp(join(path, before?.name ?? ''), join(copy, file))],
    [
      'exchanged',
      async (copy: string) => {
        const [one, other] = [join(copy, file), join(copy, path.slice(world.dataDir.length), before?.name ?? '')]
        await rename(one, `${one}.moved`)
        await rename(other, one)
        await rename(`${one}.moved`, other)
      },
    ],
    ['longer', (copy: string) => writeFile(join(copy, file), Buffer.concat([bytes, Buffer.alloc(8)]))],
  ] as const) {
    const found = await startOfCopy(world.dataDir, change)
    t.equal(found.digest, digest, what)
    t.notOk(found.isGood, what)
    t.ok(found.reasons.length > 0, what)
  }
  await world.close()
})
