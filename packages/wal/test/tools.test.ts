// Dump, verify and repair: all damage is found at its place, good logs raise no alarm, and repair keeps the original.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import {
  type DumpLine,
  dumpLog,
  type LogReport,
  type Lsn,
  nodeVfs,
  openDataDirectory,
  openFileLog,
  repairLog,
  runWalTool,
  verifyLog,
} from '../src/index.ts'
import { chosenSeed, ManualClock, SimDirectory, SimDisk, SimFile, seededRandom } from '../src/testing/index.ts'
import { patient, sized } from './patience.ts'

const dir = '/data/wal'

/** A log of a few segments on a simulated disk; left open when `closed` is false. */
async function makeLog(seed: number, closed: boolean): Promise<SimDisk> {
  const random = seededRandom(seed)
  const disk = new SimDisk({ random })
  const log = await openFileLog({
    dir,
    vfs: await withParent(disk),
    clock: new ManualClock(),
    segmentBytesMax: 2048,
    makeEpoch: () => BigInt(seed + 1),
  })
  for (let i = 0; i < 30; i++)
    await log.append({ type: 20, version: 1, payload: Buffer.alloc(50 + random.below(300), i + 1) })
  if (closed) await log.close()
  return disk
}

async function withParent(disk: SimDisk) {
  const vfs = disk.vfs()
  await vfs.makeDirectory('/data')
  return vfs
}

function segments(disk: SimDisk): { name: string; file: SimFile }[] {
  const directory = disk.node(dir)
  if (!(directory instanceof SimDirectory)) return []
  return directory
    .list()
    .filter((name) => name.endsWith('.wal'))
    .sort()
    .map((name) => ({ name, file: directory.get(name) }))
    .filter((found): found is { name: string; file: SimFile } => found.file instanceof SimFile)
}

function names(disk: SimDisk, change: (names: Map<string, SimFile | SimDirectory>) => void): void {
  const directory = disk.node(dir)
  if (directory instanceof SimDirectory) directory.damage(change)
}

const verify = (disk: SimDisk): Promise<LogReport> => verifyLog({ vfs: disk.vfs(), dir })

test('good logs raise no alarm, closed or in use', async (t) => {
  for (let seed = 1; seed <= 50; seed++) {
    for (const closed of [true, false]) {
      const report = await verify(await makeLog(seed, closed))
      t.ok(report.isGood && report.findings.length === 0 && report.cleanlyClosed === closed && report.segments > 2)
    }
  }
})

type Harm = (disk: SimDisk, pick: number, random: ReturnType<typeof seededRandom>) => void

/** Each one damages segment number `pick` (never only its unused part), or the names. */
const harms: Readonly<Record<string, Harm>> = {
  'a flipped bit': (disk, pick, random) =>
    damageSegment(disk, pick, (bytes) => flip(bytes, random.below(bytes.length))),
  'a flipped bit in a header': (disk, pick, random) =>
    damageSegment(disk, pick, (bytes) => flip(bytes, random.below(64))),
  'a flipped length': (disk, pick, random) =>
    damageSegment(disk, pick, (bytes) => flip(bytes, 64 + 16 + random.below(4))),
  'zeros over a sector': (disk, pick) =>
    damageSegment(disk, pick, (bytes) => bytes.fill(0, 100, Math.min(bytes.length, 612))),
  'zeros all over': (disk, pick) => damageSegment(disk, pick, (bytes) => bytes.fill(0)),
  'noise at the end': (disk, pick) => damageSegment(disk, pick, (bytes) => bytes.fill(0xa5, bytes.length - 100)),
  'a cut': (disk, pick, random) => {
    const file = segments(disk)[pick]?.file
    file?.resize(random.below(file.size))
  },
  'an empty file': (disk, pick) => segments(disk)[pick]?.file.resize(0),
  'a missing segment': (disk, pick) => names(disk, (all) => all.delete(segments(disk)[Math.max(1, pick)]?.name ?? '')),
  'a segment under the next name': (disk, pick) =>
    names(disk, (all) => {
      const [from, to] = [segments(disk)[pick], segments(disk)[pick === 0 ? 1 : 0]]
      if (from !== undefined && to !== undefined) all.set(to.name, from.file.copy())
    }),
  'two segments exchanged': (disk) =>
    names(disk, (all) => {
      const [one, two] = segments(disk)
      if (one === undefined || two === undefined) return
      all.set(one.name, two.file)
      all.set(two.name, one.file)
    }),
  'a strange name': (disk) => names(disk, (all) => all.set('copy of segment.wal', new SimFile())),
}

function damageSegment(disk: SimDisk, pick: number, change: (bytes: Buffer) => void): void {
  segments(disk)[pick]?.file.damage(change)
}

function flip(bytes: Buffer, offset: number): void {
  bytes[offset] = (bytes[offset] ?? 0) ^ 4
}

for (const [name, harm] of Object.entries(harms)) {
  test(`${name} is found in every place, and verify writes nothing`, async (t) => {
    const seed = chosenSeed()
    t.comment(`ANNAL_SEED=${seed}`)
    const random = seededRandom(seed)
    for (let i = 0; i < 50; i++) {
      const disk = await makeLog(seed + i, true)
      harm(disk, random.below(segments(disk).length), random)
      disk.trace = []
      const report = await verify(disk)
      const wrote = disk.trace.filter(({ call }) => !['open', 'read', 'size', 'close', 'exists', 'list'].includes(call))
      t.ok(!report.isGood && wrote.length === 0, `case ${i}`)
      const refused = await openFileLog({ dir, vfs: disk.vfs(), clock: new ManualClock() }).then(
        () => false,
        () => true,
      )
      t.ok(refused, 'and the log refuses to start')
    }
  })
}

test('verify names file, offset and LSN of the first thing that is wrong', async (t) => {
  const disk = await makeLog(1, true)
  const lines: DumpLine[] = []
  for await (const line of dumpLog({ vfs: disk.vfs(), dir })) lines.push(line)
  const target = lines.find((line) => line.kind === 'record' && line.lsn === 12)
  if (target?.kind !== 'record') return t.fail('no LSN 12')
  const harmed = segments(disk).find(({ name }) => name === target.file)
  harmed?.file.damage((bytes) => flip(bytes, target.offset + 60))
  const { findings } = await verify(disk)
  t.match(findings, [{ severity: 'damage', file: target.file, offset: target.offset, lsn: 12 }])
  const after: DumpLine[] = []
  for await (const line of dumpLog({ vfs: disk.vfs(), dir, lsnFrom: 10 })) after.push(line)
  t.match(
    after.filter((line) => line.kind === 'bad'),
    [{ file: target.file, offset: target.offset }],
  )
})

test('repair cuts to an exact prefix on a copy, at every LSN', async (t) => {
  const whole = await readAll(await makeLog(3, true))
  for (let cut = 1; cut <= 31; cut++) {
    const disk = await makeLog(3, true)
    const before = hashOf(disk, dir)
    const report = await repairLog({ vfs: disk.vfs(), dir, truncateAt: cut, acceptDataLoss: true })
    t.equal(report.lsnLast, cut - 1)
    t.equal(hashOf(disk, report.original), before, 'the original is kept')
    t.same(await readAll(disk), whole.slice(0, cut - 1))
    t.ok((await verify(disk)).isGood)
  }
})

test('repair makes a damaged log start again with everything before the damage, and refuses to keep what is damaged', async (t) => {
  const disk = await makeLog(4, true)
  const [, second] = segments(disk)
  second?.file.damage((bytes) => flip(bytes, 80))
  const lsn = Number(second?.name.slice(21, 41))
  const repair = (truncateAt: number, acceptDataLoss = true) =>
    repairLog({ vfs: disk.vfs(), dir, truncateAt, acceptDataLoss })
  await t.rejects(repair(lsn, false), { code: 'repair_refused' })
  await t.rejects(repair(lsn + 1), { code: 'repair_refused', details: { lsn } })
  const report = await repair(lsn)
  t.ok(report.droppedReadable > 5 && report.droppedBytes > 1000)
  t.equal((await readAll(disk)).length, lsn - 1)
})

test('the command works on a real directory, while its owner runs where that is allowed', patient, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'annal-tool-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const data = await openDataDirectory({ dir: root, freeBytesHard: 0 })
  for (let i = 0; i < 5; i++) await data.log.append({ type: 16, version: 1, payload: Buffer.from(`record ${i}`) })
  t.match(await run(t, 'verify', root), { code: 0, out: /^good: 1 segments.*LSN 1 to 5/m })
  const dumped = await run(t, 'dump', root, '--from', '2', '--to', '3', '--payload', '100')
  t.equal(dumped.code, 0)
  const records = dumped.out
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter((line) => line.kind === 'record')
  t.same(
    records.map(({ lsn, payload }) => [lsn, Buffer.from(payload, 'base64').toString()]),
    [
      [2, 'record 1'],
      [3, 'record 2'],
    ],
  )
  t.match(await run(t, 'repair', root, '--truncate-at', '4', '--accept-data-loss'), { code: 73 })
  await data.close()
  t.match(await run(t, 'repair', root, '--truncate-at', '4'), { code: 64 })
  t.match(await run(t, 'repair', root, '--truncate-at', '4', '--accept-data-loss'), { code: 0, out: /ends at LSN 3/ })
  const again = await openDataDirectory({ dir: root, freeBytesHard: 0 })
  t.equal(again.log.state().lsnLast, 3)
  await again.close()
  t.ok(readdirSync(root).includes('wal.damaged'))
  t.match(await run(t, 'verify'), { code: 64 })
  t.match(await run(t, 'verify', join(root, 'none')), { code: 64 })
  t.match(await run(t, 'sing', root), { code: 64 })
  t.ok(readFileSync(join(root, 'IDENTITY')).length > 50)
})

test('a log that is written and truncated in the meantime raises no alarm', patient, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'annal-live-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const log = await openFileLog({ dir: root, segmentBytesMax: 4096, freeBytesHard: 0 })
  let isOver = false
  const write = async () => {
    while (!isOver) {
      const appends = Array.from({ length: 20 }, () =>
        log.append({ type: 16, version: 1, payload: Buffer.alloc(500, 1) }),
      )
      const newest = await appends[19]
      if (newest !== undefined) await log.truncateBefore(Math.max(1, newest.lsn - 200) as Lsn)
    }
  }
  const writing = write()
  const alarms: unknown[] = []
  for (let i = 0; i < sized(60, 1000) || log.state().lsnFirst < 3000; i++) {
    const report = await verifyLog({ vfs: nodeVfs(), dir: root })
    alarms.push(...report.findings.filter(({ severity }) => severity === 'damage'))
  }
  isOver = true
  await writing
  await log.close()
  t.same(alarms.slice(0, 3), [])
  t.ok(log.state().lsnFirst > 1, 'segments were removed in the meantime')
})

async function run(t: Test, ...args: string[]): Promise<{ code: number; out: string }> {
  const lines: string[] = []
  const code = await runWalTool(args, {
    line: (text) => lines.push(text),
    error: (text) => t.comment(text.split('\n')[0]),
  })
  return { code, out: lines.join('\n') }
}

async function readAll(disk: SimDisk): Promise<string[]> {
  const log = await openFileLog({ dir, vfs: disk.vfs(), clock: new ManualClock(), makeEpoch: () => 999n })
  const found: string[] = []
  for await (const { payload } of log.read(1 as Lsn)) found.push(Buffer.from(payload).toString('latin1'))
  await log.close()
  return found
}

function hashOf(disk: SimDisk, path: string): string {
  const directory = disk.node(path)
  const hash = createHash('sha256')
  if (!(directory instanceof SimDirectory)) return 'none'
  for (const name of directory.list().sort()) {
    const file = directory.get(name)
    if (!(file instanceof SimFile)) continue
    const bytes = Buffer.alloc(file.size)
    file.read(bytes, 0)
    hash.update(name).update(bytes)
  }
  return hash.digest('hex')
}
