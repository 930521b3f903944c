// Checkpoints that contain only what changed: which files they have, how they are chained and when a part is written whole again,
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
import { lsnsPart } from '../../src/snapshot/snapshot-format.ts'
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
    [undefined, undefined, undefined, undefined],
  )
  t.equal((await manifestsIn(world.dataDir)).at(-1)?.format, 10)
  await world.write(30)
  await world.engine.checkpoint()
  const first = await world.newest()
  t.match(first.files, [
    { part: 0, lsn: whole.lsn, sum: whole.files[0]?.sum, deltas: [{ lsn: first.lsn }] },
    { part: 1, lsn: whole.lsn, sum: whole.files[1]?.sum, deltas: [{ lsn: first.lsn }] },
    { part: 2, deltas: undefined, lsn: undefined },
    { part: lsnsPart, lsn: whole.lsn, sum: whole.files[3]?.sum, deltas: [{ lsn: first.lsn }] },
  ])
  t.equal((await manifestsIn(world.dataDir)).at(-1)?.format, 10)
  const [file, changes] = [first.files[1], first.files[1]?.deltas?.[0]]
  for (const part of first.files.slice(0, 2)) {
    const sizes = [part.deltas?.[0]?.bytes ?? 0, part.bytes] as const
    t.ok(sizes[0] < sizes[1], `part ${part.part}: ${sizes[0]} of ${sizes[1]} bytes`)
  }
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })

  const digest = world.digest()
  await world.close()
  world.engine = await openEngine({ dataDir: world.dataDir, fsync: 'none' }, { pool, deltas: eagerDeltas })
  t.equal(world.digest(), digest)
  await world.write(20)
  await world.engine.checkpoint()
  const second = await world.newest()
  t.equal(second.files[1]?.sum, file?.sum, 'the same part')
  t.strictSame(
    second.files.map(({ deltas }) => deltas?.length),
    [2, 2, undefined, 2],
  )
  t.strictSame(second.files[1]?.deltas?.[0], changes)
  t.strictSame(second.files[0]?.deltas?.[0], first.files[0]?.deltas?.[0])
  const inode = async (name: string) => (await stat(join(name))).ino
  const [older, newer] = (await manifestsIn(world.dataDir)).slice(-2).map(({ path }) => join(path, file?.name ?? ''))
  t.equal(await inode(older ?? ''), await inode(newer ?? ''), 'linked, not written')
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })

  await collectionOf(world.engine).rebuild()
  await world.engine.checkpoint()
  t.notOk(
    (await world.newest()).files.some(({ deltas }) => deltas),
    'a rebuild makes parts that share nothing with those before',
  )
  t.strictSame(await startOfCopy(world.dataDir), { digest: world.digest(), reasons: [], isGood: true })
  await world.close()
})

test('a part is written whole when its changes are many, large, or those of a small part', async (t) => {
  const world = await openWorld(t)
  await world.write(600)
  const counts: number[][] = []
  for (let i = 0; i < 6; i++) {
    await world.write(5)
    await world.engine.checkpoint()
    counts.push((await world.newest()).files.map(({ deltas }) => deltas?.length ?? 0))
  }
  t.strictSame(
    counts,
    [0, 1, 2, 3, 0, 1].map((count) => [count, count, 0, count]),
  )
  await world.close()

  const usual = await openWorld(t, { deltas: { ...usualDeltaLimits, partBytesMin: 1 } })
  await usual.write(800)
  await usual.engine.checkpoint()
  await usual.write(800)
  await usual.engine.checkpoint()
  t.notOk(
    (await usual.newest()).files.some(({ deltas }) => deltas),
    'more than half of the part',
  )
  await usual.close()

  const of = (bytes: number, ...sizes: number[]) => ({
    ...{ name: 'a', part: 1, bytes, sum: '' },
    deltas: sizes.map((size) => ({ name: 'b', lsn: 1, bytes: size, sum: '' })),
  })
  const limits = { partBytesMin: 100, shareMax: 1 / 2, countMax: 3 }
  t.strictSame(
    [of(99), of(100), of(100, 30), of(100, 20), of(100, 20, 40), of(1_000, 1, 1), of(1_000, 1, 1, 1)].map((one) =>
      changesWorth(one, limits),
    ),
    [0, 50, 0, 30, 0, 498, 0],
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
    for (const name of newest.files.flatMap(({ name, deltas = [] }) => [name, deltas.at(-1)?.name]))
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

test('a checkpoint that writes parts whole is taken early, before a start would have much to replay', async (t) => {
  const world = await openWorld(t)
  await world.write(600)
  const taken = () => world.engine.stats().checkpoints.taken
  for (let i = 0; i < 4; i++) {
    await world.engine.checkpoint()
    await world.write(5)
  }
  t.equal((await world.newest()).files[1]?.deltas?.length, eagerDeltas.countMax)
  const before = taken()
  t.equal(before, 4)
  for (let i = 0; i < 2; i++) await world.write(600)
  // Without an early checkpoint, this ends with the time of the test.
  while (taken() === before) await new Promise((resolve) => setImmediate(resolve))
  t.notOk((await world.newest()).files[1]?.deltas)
  await world.close()
})

test('all parts of a collection begin their changes with the same checkpoint, so the log does not grow', async (t) => {
  const world = await openWorld(t, { deltas: { partBytesMin: 1, shareMax: 1 / 3, countMax: 32 } })
  const other = { ...graph, dimension: 16 }
  const three = [
    { name: 'v', type: 'vector', params: graph },
    { name: 'w', type: 'vector', params: other },
    { name: 'x', type: 'vector', params: graph },
  ] as const
  const collection = await world.engine.database().createCollection({ name: 'd', fields: three })
  const random = seededRandom(seed)
  const write = (count: number, from: number, name: 'v' | 'w' | 'x') =>
    collection.upsert(
      Array.from({ length: count }, (_, i) => ({
        id: `${name}${from + i}`,
        fields: {
          [name]: Array.from({ length: name === 'w' ? other.dimension : graph.dimension }, () => random.below(99)),
        },
      })),
    )
  for (const name of ['v', 'w', 'x'] as const) await write(300, 0, name)
  await world.engine.checkpoint()
  let changed = 0
  for (let i = 0; i < 24; i++) {
    // The parts grow at different speeds, so that alone each would begin again at another time.
    await write(2 + (i % 3) * 9, 1_000 * i, (['v', 'w', 'x'] as const)[i % 3] ?? 'v')
    await world.engine.checkpoint()
    const manifests = await manifestsIn(world.dataDir)
    const newest = manifests.at(-1)?.manifest.collections.find(({ fields }) => fields.length === 3)
    const files = newest?.files ?? []
    if (files.some(({ deltas }) => deltas)) changed++
    if (new Set(files.map((file) => file.deltas && file.lsn)).size !== 1)
      t.fail(`checkpoint ${i}: ${JSON.stringify(files)}`)
    if (manifests.length > 3) t.fail(`checkpoint ${i}: ${manifests.length} are kept`)
  }
  t.ok(changed > 8 && changed < 24, `${changed} of 24 had changes`)
  const [oldest] = await manifestsIn(world.dataDir)
  t.ok((oldest?.manifest.lsn ?? 0) > 6, 'the oldest checkpoint is not the first')
  await world.close()
})

test(`a file of a part or of its changes, flipped, cut, missing, or exchanged, leads to the checkpoint before, seed ${seed}`, async (t) => {
  const world = await openWorld(t, { keepLog: true })
  await world.engine.database().createCollection({ name: 'other', fields })
  const other = world.engine.database().collection('other')
  const random = seededRandom(seed)
  await world.write(300)
  await other.upsert(Array.from({ length: 200 }, (_, n) => objectOf(n, random)))
  await world.engine.checkpoint()
  for (const count of [3, 3]) {
    await world.write(count)
    await other.upsert([objectOf(count, random)])
    await world.engine.checkpoint()
  }
  await world.write(2)
  const digest = world.digest()
  const { path, manifest } = (await manifestsIn(world.dataDir)).at(-1) as { path: string; manifest: Manifest }
  const within = path.slice(world.dataDir.length)
  const foreign = manifest.collections[1]?.files ?? []
  const check = async (what: string, change: (copy: string) => Promise<void>) => {
    const found = await startOfCopy(world.dataDir, change)
    if (found.digest !== digest || found.isGood || found.reasons.length === 0)
      t.fail(`${what}: ${JSON.stringify(found)}`)
  }
  for (const { part, name, deltas = [] } of (await world.newest()).files.slice(0, 2)) {
    const chain = [name, ...deltas.map((delta) => delta.name)]
    t.equal(chain.length, 3)
    const others = [foreign[part]?.name ?? '', ...(foreign[part]?.deltas ?? []).map((delta) => delta.name)]
    for (const [i, file] of chain.entries()) {
      const bytes = await readFile(join(path, file))
      const what = `part ${part}, file ${i}`
      const put = (content: Uint8Array) => async (copy: string) => {
        // Links share their bytes, so a damaged one is damaged everywhere; here only the newest checkpoint is.
        await rm(join(copy, within, file))
        await writeFile(join(copy, within, file), content)
      }
      const isLast = i === chain.length - 1
      const cases = isLast ? (isLong ? bytes.length : 20) : isLong ? 200 : 3
      for (let n = 0; n < cases; n++) {
        const position = isLast && isLong ? n : isLast && n < 8 ? n * 8 : random.below(bytes.length)
        const changed = Uint8Array.from(bytes)
        changed[position]! ^= 1 << random.below(8)
        await check(`${what}, byte ${position}`, put(n % 2 === 0 ? changed : bytes.subarray(0, position)))
      }
      await check(`${what}, missing`, (copy) => rm(join(copy, within, file)))
      await check(`${what}, longer`, put(Buffer.concat([bytes, Buffer.alloc(8)])))
      await check(`${what}, of another collection`, put(await readFile(join(path, others[i] ?? ''))))
      await check(`${what}, exchanged`, async (copy) => {
        const [one, two] = [join(copy, within, file), join(copy, within, chain[(i + 1) % chain.length] ?? '')]
        await rename(one, `${one}.moved`)
        await rename(two, one)
        await rename(`${one}.moved`, two)
      })
    }
  }
  await world.close()
})
