// Whole data directories as earlier versions left them when they were killed, with backups, clones, and history of their formats: today's
// engine reads, searches, and writes in them, restores what they kept, and finds the same state after a restart. One golden file for each
// format of images from f1e015e on; make-directory.ts in a checkout of that commit makes it. The formats of checkpoints and of records
// have files of their own (snapshot/golden-directory.test.ts, events/every-kind.test.ts).
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { type Engine, openEngine, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import tap, { type Test, test } from 'tap'

tap.setTimeout(300_000)

// Threads of an engine take longer to start than a directory to open.
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

interface Golden {
  readonly features: readonly string[]
  /** The newest record. */
  readonly lsn: number
  readonly digests: Readonly<Record<string, string>>
  /** Of databases, tokens, and settings. */
  readonly catalog: string
  readonly hits: unknown
  /** State of the collection `films` in the backup, and the newest record then. */
  readonly backupDigest: string
  readonly backupLsn: number
  /** By path, in hexadecimal digits, which compress best. */
  readonly files: Readonly<Record<string, string>>
}

interface Version {
  /** Format of the images: backups and what clones start with. */
  readonly images: number
  readonly checkpoints: number
  /** The commit that made the directory: the last one, or one of the last, that writes these formats. */
  readonly commit: string
}

const versions: readonly Version[] = [
  { images: 1, checkpoints: 2, commit: 'f1e015e' },
  { images: 2, checkpoints: 3, commit: 'f417aeec' },
  { images: 3, checkpoints: 4, commit: '7f969397' },
  { images: 4, checkpoints: 5, commit: '097f1b60' },
  { images: 5, checkpoints: 6, commit: '56d938c7' },
  { images: 6, checkpoints: 7, commit: 'c8a6b72c' },
  { images: 7, checkpoints: 10, commit: '0d7a6c0d' },
  { images: 8, checkpoints: 11, commit: '8aa1876a' },
  { images: 9, checkpoints: 12, commit: 'dcc605e7' },
]

const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
const dimension = 8
const open = (dataDir: string) => openEngine({ dataDir, archive }, { pool })

/** Writes the directory that a golden file holds. */
async function unpack(dataDir: string, images: number): Promise<Golden> {
  const file = new URL(`../golden/upgrade-${images}.json.br`, import.meta.url)
  // Ours, made by make-directory.ts.
  const golden = JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as Golden
  for (const [name, content] of Object.entries(golden.files)) {
    await mkdir(dirname(join(dataDir, name)), { recursive: true })
    await writeFile(join(dataDir, name), Buffer.from(content, 'hex'))
  }
  return golden
}

function vectorOf(n: number, generation = 0): number[] {
  return Array.from({ length: dimension }, (_, at) => Math.sin((n + 1) * (at + 2) + generation))
}

async function hitsOf(engine: Engine): Promise<unknown> {
  const found: Record<string, unknown> = {}
  const s = { indices: [9 % 7, 10 + (9 % 5)], values: [1, 0.5] }
  const m = [
    [9, 1, 0, 1],
    [1, 0, 9, 2],
  ]
  for (const name of ['films', 'copy']) {
    const { results } = await engine
      .database()
      .collection(name)
      .search({
        fields: { v: { query: vectorOf(9), limit: 5 }, s: { query: s, limit: 5 }, m: { query: m, limit: 5 } },
        filter: [{ even: { $eq: true } }],
      })
    found[name] = Object.fromEntries(Object.entries(results).map(([field, hits]) => [field, hits.map(({ id }) => id)]))
  }
  return found
}

function digestsOf(engine: Engine): Record<string, string> {
  const names = engine.database().collections()
  return Object.fromEntries(names.map(({ name }) => [name, engine.database().collection(name).stateDigest()]))
}

/** Formats of the manifests in a folder of the directory. */
function formatsOf({ files }: Golden, folder: string): number[] {
  const manifests = Object.entries(files).filter(
    ([name]) => name.startsWith(`${folder}/`) && name.endsWith('manifest.json'),
  )
  return manifests.map(([, content]) => Number(/^\{"format":(\d+)/.exec(Buffer.from(content, 'hex').toString())?.[1]))
}

/** What an operator does after an upgrade: reads, searches, restores what was kept, and writes. */
async function useAfterUpgrade(t: Test, engine: Engine, golden: Golden): Promise<void> {
  const database = engine.database()
  const films = database.collection('films')
  t.match(await films.get('9'), { id: '9', meta: { n: 9 }, filter: { even: false } })
  await database.backups.restore('before', 'restored')
  await database.backups.restorePast('films', 'past', { lsn: golden.backupLsn })
  for (const name of ['restored', 'past'])
    t.equal(database.collection(name).stateDigest(), golden.backupDigest, `${name} has the state of the backup`)
  const text = golden.features.includes('text') ? { t: 'A new text' } : {}
  const vectors = { v: vectorOf(500), b: vectorOf(500), s: { indices: [3], values: [9] }, m: [[5, 5, 5, 5]] }
  await films.upsert([{ id: 'new', filter: { even: true }, fields: { ...vectors, ...text } }])
  await films.delete(['9'])
  const { results } = await films.search({ fields: { v: { query: vectorOf(500), limit: 1 } } })
  t.equal(results.v?.[0]?.id, 'new')
  await database.backups.create('films', 'after')
  await database.backups.settled()
  t.strictSame(await database.backups.verify('after', { deep: true }), [])
}

for (const version of versions)
  test(`a directory of ${version.commit}, with images of format ${version.images}, is read, searched, written, and restored from`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-upgrade-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const dataDir = join(dir, 'data')
    const golden = await unpack(dataDir, version.images)
    t.equal(Math.max(...formatsOf(golden, 'backups')), version.images)
    t.equal(Math.max(...formatsOf(golden, 'checkpoints')), version.checkpoints)
    t.ok(formatsOf(golden, 'imports').length > 0 && formatsOf(golden, 'archive/checkpoints').length > 0)
    const { findings } = await verifyDataDirectory({ dataDir, deep: true, threads: 1, scratchDir: dir })
    t.strictSame(
      findings.filter(({ severity }) => severity === 'damage'),
      [],
    )
    let engine = await open(dataDir)
    t.strictSame(engine.health().reasons, [])
    t.equal(engine.lsnApplied, golden.lsn)
    t.strictSame(digestsOf(engine), golden.digests)
    t.equal(
      engine.control.findToken('3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0')?.token.name,
      'first',
    )
    t.equal(engine.control.setting('theme'), 'dark')
    t.strictSame(await hitsOf(engine), golden.hits)
    t.strictSame(await engine.database().backups.verify('before', { deep: true }), [])
    await useAfterUpgrade(t, engine, golden)
    const [digests, hits] = [digestsOf(engine), await hitsOf(engine)]
    await cp(dataDir, join(dir, 'killed'), { recursive: true })
    await engine.close()
    for (const from of [dataDir, join(dir, 'killed')]) {
      engine = await open(from)
      t.strictSame(engine.health().reasons, [])
      t.strictSame(digestsOf(engine), digests, from === dataDir ? 'after an orderly stop' : 'after a kill')
      t.strictSame(await hitsOf(engine), hits)
      await engine.close()
    }
  })

test('every format of images has a directory, up to the one of today', async (t) => {
  const source = readFileSync(new URL('../../src/backup/image/image.ts', import.meta.url), 'utf8')
  const newest = Number(/^const seal: Seal = \{ format: (\d+), key: 'image' \}$/m.exec(source)?.[1])
  t.strictSame(
    versions.map(({ images }) => images),
    Array.from({ length: newest }, (_, i) => i + 1),
  )
})
