// A file of vectors is opened only if it is the one in the manifest, and no row of another file is returned.
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { openEngine, verifyDataDirectory } from '@annal/engine'
import { nodeVfs } from '@annal/wal'
import tap, { type Test, test } from 'tap'
import { Column } from '../../src/memory/column.ts'
import { Originals } from '../../src/originals/originals.ts'
import type { OriginalsOwner } from '../../src/originals/originals-owner.ts'
import type { OriginalsState } from '../../src/originals/originals-state.ts'

tap.setTimeout(300_000)

const directory = () => '01234567-89ab-4cde-8f01-23456789abcd'
const dimension = 4_094
const owner: OriginalsOwner = { collectionId: 7, generation: 1, field: 0, dimension, several: false }

async function directoryFor(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-originals-'))
  t.teardown(() => rm(dir, { recursive: true }))
  return dir
}

function rows(count: number, from: number): Float32Array {
  return Float32Array.from(
    { length: count * dimension },
    (_, i) => from + Math.floor(i / dimension) + ((i % dimension) % 7),
  )
}

async function appendRows(originals: Originals, count: number, from: number): Promise<Originals> {
  await originals.prepare(count)
  await originals.append(
    Uint32Array.from({ length: count }, (_, i) => from + i),
    rows(count, from),
  )
  return originals
}

function stateOf(end: number): OriginalsState {
  const slots = new Column('u32')
  slots.ensure(end)
  for (let i = 0; i < end; i++) slots.set(i, i + 1)
  return { end, slots }
}

test('an older copy, a shorter history, and a file of another writer are rejected when they are opened', async (t) => {
  const dir = await directoryFor(t)
  const place = { vfs: nodeVfs(), dir, directory }
  const first = await appendRows(new Originals(place, owner), 1_100, 0)
  await first.sync()
  await cp(dir, `${dir}-early`, { recursive: true })
  t.teardown(() => rm(`${dir}-early`, { recursive: true }))
  await appendRows(first, 20, 1_100)
  await first.sync()
  const listed = first.files()
  t.equal(listed.length, 2, '1,024 rows of 4,094 dimensions make a chunk')
  await first.close()
  const opened = new Originals(place, owner, stateOf(1_120))
  await opened.open(listed)
  for (const row of [0, 1_023, 1_024, 1_119]) t.strictSame(await opened.read(row), rows(1, row), `row ${row}`)
  t.strictSame(opened.files(), listed)
  // It continues where it ended, and so does the chain.
  await appendRows(opened, 5, 1_120)
  t.strictSame(await opened.read(1_124), rows(1, 1_124))
  await opened.close()
  const refused = async (what: string, who: OriginalsOwner = owner) => {
    const again = new Originals(place, who, stateOf(1_120))
    await t.rejects(again.open(listed), { code: 'snapshot_damaged' }, what)
    await again.close()
  }
  const [name = '', last = ''] = listed.map((file) => file.name)
  const whole = await readFile(join(dir, last))
  await writeFile(join(dir, last), await readFile(join(`${dir}-early`, last)))
  await refused('an older copy of the growing file')
  await writeFile(join(dir, last), whole)
  await rename(join(dir, name), join(dir, 'aside'))
  await writeFile(join(dir, name), whole)
  await refused('another chunk of the same field')
  await writeFile(join(dir, name), (await readFile(join(dir, 'aside'))).subarray(64))
  await refused('a file without its header')
  await rm(join(dir, name))
  await refused('a missing file')
  await rename(join(dir, 'aside'), join(dir, name))
  const fine = new Originals(place, owner, stateOf(1_120))
  await fine.open(listed)
  await fine.close()
})

test('a file that is swapped while it is open returns no row of the other one', async (t) => {
  const dir = await directoryFor(t)
  const place = { vfs: nodeVfs(), dir, directory }
  const one = await appendRows(new Originals(place, owner), 10, 0)
  const two = await appendRows(new Originals(place, { ...owner, collectionId: 8 }), 10, 100)
  const [a = '', b = ''] = (await readdir(dir)).sort()
  const [bytesA, bytesB] = [await readFile(join(dir, a)), await readFile(join(dir, b))]
  await writeFile(join(dir, a), bytesB)
  await writeFile(join(dir, b), bytesA)
  for (const row of [0, 1, 9]) await t.rejects(one.read(row), { code: 'snapshot_damaged' })
  await t.rejects(two.read(100), { code: 'snapshot_damaged' })
  await one.close()
  await two.close()
})

test('a directory of an earlier format is reported as unprotected, gets marks, and is protected after a rebuild', async (t) => {
  const dir = await directoryFor(t)
  const golden = JSON.parse(
    brotliDecompressSync(await readFile(new URL('../golden/data-directory-2.json.br', import.meta.url))).toString(),
  ) as { readonly files: Readonly<Record<string, string>> }
  const dataDir = join(dir, 'data')
  for (const [name, content] of Object.entries(golden.files)) {
    await mkdir(join(dataDir, name, '..'), { recursive: true })
    await writeFile(join(dataDir, name), Buffer.from(content, 'base64'))
  }
  const unprotected = async () =>
    (await verifyDataDirectory({ dataDir })).findings.filter(({ what }) => what.includes('an earlier format'))
  const before = await unprotected()
  t.ok(before.length >= 4, 'one for each field that keeps less than float32')
  t.match(before[0]?.what, /nothing proves/)
  let engine = await openEngine({ dataDir, threads: 1 })
  await engine.close()
  const marked = await unprotected()
  t.ok(marked.length > 0)
  t.notOk(
    marked.some(({ what }) => what.includes('nothing proves')),
    'each has marks after a checkpoint',
  )
  // Swapped files of version 1 are detected by their marks.
  const [x = '', y = ''] = marked.map(({ file }) => join(dataDir, file))
  const [bytesX, bytesY] = [await readFile(x), await readFile(y)]
  await rm(x)
  await rm(y)
  await writeFile(x, bytesY)
  await writeFile(y, bytesX)
  t.notOk((await verifyDataDirectory({ dataDir })).isGood)
  engine = await openEngine({ dataDir, threads: 1 })
  t.match(engine.health().reasons.join('\n'), /is not the expected file.*replaces it/)
  for (const { name } of engine.database().collections()) await engine.database().collection(name).rebuild()
  await engine.close()
  t.strictSame(await unprotected(), [])
})
