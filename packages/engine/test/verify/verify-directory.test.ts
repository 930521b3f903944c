// A look at a closed directory finds what was done to it, says nothing about a good one, and changes no byte of either.
import { createHash } from 'node:crypto'
import { cp, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine, verifyDataDirectory } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 8, space_type: 'cosine', precision: 'int8', M: 4, ef_con: 16 } },
  { name: 's', type: 'sparse', params: {} },
] as const

function objects(count: number, from: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    meta: { n: i },
    filter: { third: i % 3 },
    fields: {
      v: Array.from({ length: 8 }, (__, index) => Math.sin((from + i) * (index + 1))),
      s: { indices: [i % 7, 10 + (i % 5)], values: [1, 0.5] },
    },
  }))
}

/** Two checkpoints, a tail after them, and the whole log. */
async function made(dataDir: string): Promise<void> {
  const engine = await openEngine({ dataDir, threads: 1, keepLog: true })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  for (let round = 0; round < 3; round++) {
    await collection.upsert(objects(300, round * 200))
    await collection.deleteWhere([{ third: { $eq: round } }])
    if (round < 2) await engine.checkpoint()
  }
  // What a kill would leave: the directory as it is before the close, which takes a checkpoint.
  await cp(dataDir, `${dataDir}-killed`, { recursive: true })
  await engine.close()
  await rm(join(`${dataDir}-killed`, 'LOCK'), { force: true })
}

async function contentsOf(dir: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(dir, { recursive: true })).sort()) {
    const path = join(dir, name)
    hash.update(name)
    if ((await stat(path)).isFile()) hash.update(await readFile(path))
  }
  return hash.digest('hex')
}

async function damage(path: string, offset: number): Promise<void> {
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  const position = offset < 0 ? size + offset : offset
  const { buffer } = await file.read(new Uint8Array(1), 0, 1, position)
  await file.write(Uint8Array.of((buffer[0] as number) ^ 1), 0, 1, position)
  await file.close()
}

test('verifying an intact directory reports its states and no damage, and writes nothing', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-verify-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const good = join(dir, 'good')
  await made(good)
  const killed = `${good}-killed`
  const before = await contentsOf(killed)
  const steps = new Set<string>()
  const report = await verifyDataDirectory({
    dataDir: killed,
    deep: true,
    threads: 1,
    scratchDir: dir,
    onProgress: ({ step }) => steps.add(step),
  })
  t.strictSame(
    report.findings.filter(({ severity }) => severity === 'damage'),
    [],
  )
  t.ok(report.isGood)
  t.equal(report.states.length, 3, 'from both checkpoints and from the whole log')
  t.equal(new Set(report.states.flatMap(({ collections }) => collections.map(({ digest }) => digest))).size, 1)
  t.strictSame([...steps], ['log', 'checkpoints', 'state'])
  t.equal(await contentsOf(killed), before, 'nothing was written')
  t.notOk(
    (await readdir(dir)).some((name) => name.startsWith('annal-verify')),
    'nothing was left behind',
  )

  // Row 300 is the first of the second round, which nobody deleted or wrote again; a header is 64 bytes, a row 40.
  const damages: readonly (readonly [what: string, file: RegExp, at: number, deep: boolean])[] = [
    ['a byte of a snapshot file', /part-1\.snap$/, -60, false],
    ['a byte of a manifest', /manifest\.json$/, -60, false],
    ['a byte of the log', /\.wal$/, 500, false],
    ['a byte of a vector as it came', /^originals\//, 64 + 300 * 40 + 20, true],
  ]
  for (const [what, file, offset, deep] of damages) {
    const copy = join(dir, 'copy')
    await cp(killed, copy, { recursive: true })
    const name = (await readdir(copy, { recursive: true })).sort().find((one) => file.test(one))
    await damage(join(copy, name as string), offset)
    const found = await verifyDataDirectory({ dataDir: copy, deep, threads: 1, scratchDir: dir })
    t.notOk(found.isGood, what)
    t.ok(
      found.findings.every((one) => one.cure !== '' && one.file !== ''),
      `${found.findings[0]?.what}`,
    )
    await rm(copy, { recursive: true })
  }
})

test('a directory in use, and a path that is not a data directory, are rejected', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-verify-'))
  t.teardown(() => rm(dir, { recursive: true }))
  await t.rejects(verifyDataDirectory({ dataDir: dir }), { code: 'invalid_argument' })
  const engine = await openEngine({ dataDir: join(dir, 'data'), threads: 1 })
  await engine.database().createCollection({ name: 'c', fields })
  await t.rejects(verifyDataDirectory({ dataDir: join(dir, 'data'), deep: true, threads: 1 }), {
    code: 'directory_locked',
  })
  await engine.close()
})

test('a log that does not continue the newest checkpoint is reported, as a start rejects it', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-verify-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const [dataDir, older] = [join(dir, 'data'), join(dir, 'older')]
  let engine = await openEngine({ dataDir, threads: 1 })
  const collection = await engine.database().createCollection({ name: 'c', fields })
  await collection.upsert(objects(10, 0))
  await cp(join(dataDir, 'wal'), older, { recursive: true })
  await collection.upsert(objects(10, 10))
  await engine.close()
  engine = await openEngine({ dataDir, threads: 1 })
  await engine.database().collection('c').upsert(objects(5, 20))
  await engine.close()
  t.ok((await verifyDataDirectory({ dataDir })).isGood)
  const checkRejected = async (copy: string, what: RegExp) => {
    const { isGood, findings } = await verifyDataDirectory({ dataDir: copy })
    t.notOk(isGood)
    t.match(findings, [{ severity: 'damage', file: 'wal', what }])
    await t.rejects(openEngine({ dataDir: copy, threads: 1 }), { code: 'log_damaged' })
  }
  const ends = join(dir, 'ends')
  await cp(dataDir, ends, { recursive: true })
  await rm(join(ends, 'wal'), { recursive: true })
  await cp(older, join(ends, 'wal'), { recursive: true })
  await checkRejected(ends, /^the log ends at LSN \d+, but the newest checkpoint is of LSN \d+$/)
  const begins = join(dir, 'begins')
  await cp(dataDir, begins, { recursive: true })
  await rm(join(begins, 'checkpoints'), { recursive: true })
  const segments = (await readdir(join(begins, 'wal'))).filter((name) => name.endsWith('.wal')).sort()
  await rm(join(begins, 'wal', segments[0] as string))
  await checkRejected(begins, /^the log begins with LSN \d+, but there is no checkpoint$/)
})
