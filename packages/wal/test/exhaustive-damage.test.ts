// Every cut and every flipped bit of a small log, one at a time: refused with the place and the reason, or harmless.
import { type Test, test } from 'tap'
import { encodeIdentity } from '../src/identity.ts'
import { type Log, type Lsn, openFileLog, readIdentity, WalError } from '../src/index.ts'
import { idle, ManualClock, SimDirectory, SimDisk, SimFile, seededRandom } from '../src/testing/index.ts'
import { patient } from './patience.ts'

const dir = '/data/wal'
const records = 20

interface Made {
  readonly root: SimDirectory
  readonly segment: string
  readonly bytes: number
  /** Where the newest user record begins. */
  readonly newestAt: number
}

async function makeLog(how: 'closed' | 'left'): Promise<Made> {
  const disk = new SimDisk({ random: seededRandom(1) })
  await disk.vfs().makeDirectory(dir)
  const log = await openFileLog({ dir, vfs: disk.vfs(), clock: new ManualClock(), makeEpoch: () => 77n })
  let newestAt = 0
  for (let i = 0; i < records; i++) {
    newestAt = log.state().bytes
    await log.append({ type: 16, version: 1, payload: Buffer.alloc(40 + ((i * 13) % 64), i + 1) })
  }
  if (how === 'closed') await log.close()
  await idle()
  const segment = (await disk.vfs().list(dir)).find((name) => name.endsWith('.wal')) ?? ''
  return { root: disk.root.copy(), segment, bytes: fileOf(disk, segment).size, newestAt }
}

function fileOf(disk: SimDisk, name: string): SimFile {
  const node = disk.node(`${dir}/${name}`)
  if (!(node instanceof SimFile)) throw new Error(`no file ${name}`)
  return node
}

/** The records a start on a harmed copy gives, or the code it refuses with. */
async function startOn(made: Made, harm: (disk: SimDisk) => void): Promise<number | string> {
  const disk = new SimDisk({ random: seededRandom(2) })
  disk.replaceRoot(made.root.copy())
  harm(disk)
  try {
    const log = await openFileLog({ dir, vfs: disk.vfs(), clock: new ManualClock(), makeEpoch: () => 78n })
    return await countGood(log)
  } catch (error) {
    if (error instanceof WalError) return error.code
    throw error
  }
}

async function countGood(log: Log): Promise<number> {
  let found = 0
  for await (const { payload } of log.read(1 as Lsn)) {
    if (payload.length !== 40 + ((found * 13) % 64) || payload[0] !== found + 1) return -1
    found++
  }
  return found
}

function flip(disk: SimDisk, name: string, bit: number): void {
  fileOf(disk, name).damage((content) => {
    content[bit >> 3] = (content[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  })
}

const removeTip = (disk: SimDisk) => {
  const directory = disk.node(dir)
  if (directory instanceof SimDirectory) directory.damage((names) => names.delete('TIP'))
}

async function tally(
  t: Test,
  cases: number,
  outcome: (n: number) => Promise<number | string>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let slowestMs = 0
  for (let n = 0; n < cases; n++) {
    const startMs = performance.now()
    const found = String(await outcome(n))
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    counts[found] = (counts[found] ?? 0) + 1
  }
  t.comment(`${cases} cases: ${JSON.stringify(counts)}, slowest ${slowestMs.toFixed(1)} ms`)
  t.ok(slowestMs < 1000, 'no case hangs')
  return counts
}

test('a cleanly closed log cut at any length is refused', patient, async (t) => {
  const made = await makeLog('closed')
  const counts = await tally(t, made.bytes, (n) => startOn(made, (disk) => fileOf(disk, made.segment).resize(n)))
  t.same(counts, { log_damaged: made.bytes })
  t.equal(await startOn(made, () => undefined), records)
})

test('a cleanly closed log with any bit flipped is refused', patient, async (t) => {
  const made = await makeLog('closed')
  const counts = await tally(t, made.bytes * 8, (bit) => startOn(made, (disk) => flip(disk, made.segment, bit)))
  t.same(counts, { log_damaged: made.bytes * 8 })
})

test('a log that was left with any bit flipped is refused, because TIP knows', patient, async (t) => {
  const made = await makeLog('left')
  const counts = await tally(t, made.bytes * 8, (bit) => startOn(made, (disk) => flip(disk, made.segment, bit)))
  t.same(counts, { log_damaged: made.bytes * 8 })
})

test('without TIP only the newest record can be taken for a tear', patient, async (t) => {
  const made = await makeLog('left')
  const newestBits = (made.bytes - made.newestAt) * 8
  const counts = await tally(t, made.bytes * 8, (bit) =>
    startOn(made, (disk) => {
      removeTip(disk)
      flip(disk, made.segment, bit)
    }),
  )
  t.same(counts, { log_damaged: made.newestAt * 8, [records - 1]: newestBits })
})

test('TIP cut at any length, or with any bit flipped, never costs a record', patient, async (t) => {
  const made = await makeLog('closed')
  t.same(await tally(t, 1024, (n) => startOn(made, (disk) => fileOf(disk, 'TIP').resize(n))), { [records]: 1024 })
  t.same(await tally(t, 1024 * 8, (bit) => startOn(made, (disk) => flip(disk, 'TIP', bit))), { [records]: 1024 * 8 })
})

test('zeros, a foreign header and empty files in the place of a segment are refused', patient, async (t) => {
  const made = await makeLog('closed')
  const zeroed = await startOn(made, (disk) => fileOf(disk, made.segment).damage((content) => content.fill(0)))
  const empty = await startOn(made, (disk) => fileOf(disk, made.segment).resize(0))
  const strange = await startOn(made, (disk) => {
    const directory = disk.node(dir)
    if (directory instanceof SimDirectory) directory.damage((names) => names.set('mine.wal', new SimFile()))
  })
  const gone = await startOn(made, (disk) => {
    const directory = disk.node(dir)
    if (directory instanceof SimDirectory) directory.damage((names) => names.delete(made.segment))
  })
  t.same([zeroed, empty, strange, gone], Array(4).fill('log_damaged'))
})

test('IDENTITY cut at any length, or with any bit flipped, is refused', patient, async (t) => {
  const whole = encodeIdentity({
    uuid: '6f1f3f9e-8b0a-4d43-9d42-3a6f5ad5a0c1',
    formatVersion: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
  })
  const read = async (change: (bytes: Buffer) => Buffer) => {
    const disk = new SimDisk({ random: seededRandom(3) })
    const vfs = disk.vfs()
    const file = await vfs.open('/IDENTITY', 'create')
    await file.write(change(Buffer.from(whole)), 0)
    return readIdentity({ dir: '/', vfs }).then(
      () => 'read',
      (error: unknown) => (error instanceof WalError ? error.code : 'thrown'),
    )
  }
  t.equal(await read((bytes) => bytes), 'read')
  t.same(await tally(t, whole.length, (n) => read((bytes) => bytes.subarray(0, n))), { identity_damaged: whole.length })
  const flipped = await tally(t, whole.length * 8, (bit) =>
    read((bytes) => {
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      return bytes
    }),
  )
  t.same(flipped, { identity_damaged: whole.length * 8 })
})
