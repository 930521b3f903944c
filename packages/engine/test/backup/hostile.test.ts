// Streams and folders that are no whole backups: every damage is found, nothing is taken for a backup that is none, and nothing
// of what was refused is left.

import { createHash } from 'node:crypto'
import { appendFile, copyFile, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Database, type Engine, EngineError } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { backedUp, denseField, openedEngine, runRandomLife } from './rig.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
/** The long run may be made in pieces, each with a seed of its own. */
const mutations = Number(process.env.ANNAL_RUNS ?? (long ? 100_000 : 150))
tap.setTimeout(900_000)

/** A manifest that anything may be done to. */
interface Loose {
  [key: string]: unknown
}

interface World {
  readonly engine: Engine & { readonly dataDir: string }
  readonly database: Database
  readonly collection: Collection
  readonly whole: Buffer
}

async function world(t: Test): Promise<World> {
  const engine = await openedEngine(t)
  const database = engine.database()
  const fields = [denseField('v', 'int8'), { name: 's', type: 'sparse' }, denseField('f', 'float32')] as const
  const collection = await database.createCollection({ name: 'a', fields })
  await runRandomLife(collection, seededRandom(seed), 25)
  await engine.checkpoint()
  await runRandomLife(collection, seededRandom(seed + 1), 10)
  await backedUp(database, 'a', 'whole')
  const pieces: Uint8Array[] = []
  const { stream, bytes } = database.backups.download('whole')
  for await (const piece of stream) pieces.push(piece)
  const whole = Buffer.concat(pieces)
  t.equal(whole.length, bytes, 'its length is the announced one')
  return { engine, database, collection, whole }
}

async function* inPieces(bytes: Uint8Array, random: Random): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < bytes.length; ) {
    const piece = bytes.subarray(index, index + 1 + random.below(40_000))
    index += piece.length
    yield piece
  }
}

/** The stream with a changed manifest, whose checksums are those of what it says now. */
function withManifest(whole: Buffer, change: (image: Loose) => void): Buffer {
  const bytes = whole.readUInt32LE(12)
  const text = whole.subarray(16, 16 + bytes).toString()
  const image = JSON.parse(text).image
  change(image)
  const body = JSON.stringify(image)
  const sum = createHash('sha256').update(body).digest('hex')
  const manifest = Buffer.from(`{"format":1,"sha256":"${sum}","image":${body}}\n`)
  const head = Buffer.from(whole.subarray(0, 16))
  head.writeUInt32LE(manifest.length, 12)
  return Buffer.concat([head, manifest, whole.subarray(16 + bytes)])
}

const listOf = (image: Loose, key: string) => image[key] as unknown[]

const set = (path: string, value: unknown) => (image: Loose) => {
  const keys = path.split('.')
  const last = keys.pop() as string
  let place = image
  for (const key of keys) place = place[key] as Loose
  place[last] = value
}

/** Manifests that a hostile hand wrote: well-formed, checksummed, and impossible. */
const crafted: [string, (image: Loose) => void][] = [
  ...['name', 'collection', 'database']
    .flatMap((field): [string, (image: Loose) => void][] =>
      ['../../etc/passwd', 'a/b', '..', '__proto__', 'a\u0000b', 'x'.repeat(300), 5, null].map((value) => [
        `${field} ${JSON.stringify(value).slice(0, 20)}`,
        set(field, value),
      ]),
    )
    .filter(([label]) => label !== 'name "__proto__"' && label !== 'name ".."'),
  ...[-1, 1.5, 1e15, 2 ** 53, Number.MAX_VALUE, '8', null].map((value): [string, (image: Loose) => void] => [
    `bytes ${value}`,
    set('parts.0.bytes', value),
  ]),
  ['tail of 10^15 bytes', set('tail.bytes', 1e15)],
  ['more records than there are, as text', set('tail.records', 'many')],
  ['dimension 0', set('fields.0.params.dimension', 0)],
  ['dimension 10^9', set('fields.0.params.dimension', 1e9)],
  ['another dimension', set('fields.0.params.dimension', 9)],
  ['another metric', set('fields.0.params.spaceType', 'l2')],
  ['another precision', set('fields.0.params.precision', 'int16')],
  ['M beyond all limits', set('fields.0.params.M', 1e6)],
  ['no fields', set('fields', [])],
  ['a field twice', (image) => void listOf(image, 'fields').splice(2, 1, listOf(image, 'fields')[0])],
  ['a field of no kind', set('fields.0.kind', 'other')],
  ['a part twice', (image) => void listOf(image, 'parts').push(listOf(image, 'parts')[0])],
  ['a part that no field has', set('parts.1.part', 99)],
  ['a part missing', (image) => void listOf(image, 'parts').pop()],
  ['originals of a field that is none', set('originals.0.field', 7)],
  [
    'originals of two generations',
    (image) => void listOf(image, 'originals').push({ ...(listOf(image, 'originals')[0] as Loose), generation: 8 }),
  ],
  ['originals cut off', (image) => set('originals', [])(image)],
  ['another file sum', set('parts.0.sum', '0'.repeat(16))],
  ['another file hash', set('parts.0.sha256', '0'.repeat(64))],
  ['another digest', set('digest', '0123456789abcdef')],
  ['a digest that is none', set('digest', 'x')],
  ['a snapshot of another LSN', (image) => set('snapshotLsn', Number(image.snapshotLsn) - 1)(image)],
  ['a snapshot after its image', (image) => set('snapshotLsn', Number(image.lsn) + 1)(image)],
  ['another LSN', (image) => set('lsn', Number(image.lsn) + 1)(image)],
  ['another collection id', set('source.collectionId', 999)],
  ['a key that nobody knows', set('mode', '0777')],
  ['a seed that is none', set('hashSeed.low', -1)],
]

test(`a stream that is not a complete backup is rejected (ANNAL_SEED=${seed})`, async (t) => {
  const { engine, database, collection, whole } = await world(t)
  const random = seededRandom(seed + 2)
  const digest = collection.stateDigest()
  let refusals = 0
  const refused = async (bytes: Uint8Array, label: string) => {
    const error = await database.backups.upload('hostile', inPieces(bytes, random)).catch((thrown) => thrown)
    const codes = ['backup_damaged', 'format_too_new', 'read_only', 'limit_exceeded', 'memory_exhausted']
    refusals++
    if (!(error instanceof EngineError && codes.includes(error.code)))
      t.fail(`${label}: ${JSON.stringify(error)} ${error}`)
  }
  for (const [label, change] of crafted) await refused(withManifest(whole, change), label)
  const header = (offset: number, value: number) => {
    const bytes = Buffer.from(whole)
    bytes.writeUInt32LE(value, offset)
    return bytes
  }
  await refused(header(8, 2), 'another version')
  await refused(header(12, 0xffff_ffff), 'a manifest of 4 GB')
  await refused(header(12, 3), 'a manifest of 3 bytes')
  await refused(Buffer.alloc(0), 'nothing')
  await refused(Buffer.alloc(100_000), 'zeros')
  await refused(Buffer.concat([whole, Buffer.from('x')]), 'more after the end')
  await refused(whole.subarray(16), 'without its head')
  t.ok(refusals >= 60, `${refusals} crafted streams`)
  for (let i = 0; i < mutations; i++) {
    const bytes = Buffer.from(whole)
    const kind = random.below(4)
    const offset = random.below(bytes.length)
    if (kind === 0) await refused(bytes.subarray(0, offset), `cut at ${offset}`)
    else if (kind === 1) {
      bytes[offset] = (bytes[offset] as number) ^ (1 << random.below(8))
      await refused(bytes, `a bit at ${offset}`)
    } else if (kind === 2) {
      const from = random.below(bytes.length)
      const length = 1 + random.below(5_000)
      const moved = Buffer.from(bytes)
      bytes.copy(moved, offset, from, from + length)
      if (!moved.equals(bytes)) await refused(moved, `${length} bytes of ${from} at ${offset}`)
    } else {
      await refused(
        Buffer.concat([bytes.subarray(0, offset), bytes.subarray(Math.max(0, offset - 1 - random.below(64)))]),
        `again at ${offset}`,
      )
    }
  }
  t.same(
    database.backups.list().map(({ name }) => name),
    ['whole'],
    'none of them became a backup',
  )
  t.equal((await readdir(join(engine.dataDir, 'backups'))).length, 1, 'and nothing of them is left')
  t.equal(collection.stateDigest(), digest)
  t.same(engine.health(), { status: 'ok', reasons: [] })
  await database.backups.upload('fine', inPieces(whole, random))
  await database.backups.restore('fine', 'again')
  t.equal(database.collection('again').stateDigest(), digest, 'a whole one is taken')
})

test('every damage to a backup is detected, and no complete one is reported as damaged', async (t) => {
  const { engine, database } = await world(t)
  const random = seededRandom(seed + 3)
  const dir = join(engine.dataDir, 'backups')
  const [folder = ''] = await readdir(dir)
  const files = (await readdir(join(dir, folder))).filter((name) => name !== 'manifest.json')
  for (let i = 0; i < (long ? 100 : 5); i++) t.same(await database.backups.verify('whole'), [])
  let found = 0
  const damages = long ? 500 : 60
  for (let i = 0; i < damages; i++) {
    const name = files[random.below(files.length)] as string
    const path = join(dir, folder, name)
    const kept = await readFile(path)
    const kind = random.below(5)
    // A link shares its bytes with checkpoints; damage is done to a copy in its place.
    await rm(path)
    await writeFile(path, kept)
    const offset = random.below(kept.length)
    const other = join(dir, folder, `part-${90 + i}.snap`)
    if (kind === 0) {
      const bytes = Buffer.from(kept)
      bytes[offset] = (bytes[offset] as number) ^ (1 << random.below(8))
      await writeFile(path, bytes)
    } else if (kind === 1) await truncate(path, offset)
    else if (kind === 2) await appendFile(path, 'x')
    else if (kind === 3) await rename(path, other)
    else await copyFile(path, other)
    const faults = await database.backups.verify('whole')
    if (faults.length > 0) found++
    const lsn = engine.stats().lsnApplied
    if (i % 10 === 0 && kind !== 4) {
      const refusal = await database.backups.restore('whole', 'x').catch((error) => error)
      t.equal(refusal.code, 'backup_damaged')
      t.equal(engine.stats().lsnApplied, lsn, 'nothing was written')
    }
    await rm(other, { force: true })
    await writeFile(path, kept)
  }
  t.equal(found, damages)
  t.same(await database.backups.verify('whole', { deep: true }), [])
})
