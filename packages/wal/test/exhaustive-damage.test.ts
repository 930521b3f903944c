// Every cut and every flipped bit of a small log, one at a time: refused with place and reason, or harmless.
import { type Test, test } from 'tap'
import { encodeIdentity } from '../src/identity.ts'
import { type Log, type Lsn, openFileLog, readIdentity, WalError } from '../src/index.ts'
import { idle, ManualClock, SimDirectory, SimDisk, SimFile, seededRandom } from '../src/testing/index.ts'
import { cases, patient } from './patience.ts'

const dir = '/data/wal'
const records = 20

interface Made {
  readonly root: SimDirectory
  readonly segment: string
  readonly bytes: number
  /** Where the newest user record begins. */
  readonly newestAt: number
}

async function makeLog(how: 'closed' | 'left', salt = 0): Promise<Made> {
  const disk = new SimDisk({ random: seededRandom(1) })
  await disk.vfs().makeDirectory(dir)
  const log = await openFileLog({ dir, vfs: disk.vfs(), clock: new ManualClock(), makeEpoch: () => 77n })
  let newestAt = 0
  for (let i = 0; i < records; i++) {
    newestAt = log.state().bytes
    await log.append({ type: 16, version: 1, payload: Buffer.alloc(40 + ((i * 13) % 64), i + 1 + salt) })
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

/** Returns the number of records that a start on a damaged copy finds, or the code of its refusal. */
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

/** Records the largest requested buffer. */
function watchAllocations(): { stop(): number } {
  const { alloc, allocUnsafeSlow } = Buffer
  let largest = 0
  Buffer.alloc = (size: number, ...rest: []) => {
    largest = Math.max(largest, size)
    return alloc(size, ...rest)
  }
  Buffer.allocUnsafeSlow = (size) => {
    largest = Math.max(largest, size)
    return allocUnsafeSlow(size)
  }
  return {
    stop() {
      Object.assign(Buffer, { alloc, allocUnsafeSlow })
      return largest
    },
  }
}

/** Every case must end as expected, and none may hang. */
async function every(
  t: Test,
  count: number,
  outcome: (n: number) => Promise<number | string>,
  expected: number | string | ((n: number) => number | string),
): Promise<void> {
  const wrong: string[] = []
  let slowestMs = 0
  let tried = 0
  const allocations = watchAllocations()
  for (const n of cases(count)) {
    const startMs = performance.now()
    const found = await outcome(n)
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    tried++
    const wanted = typeof expected === 'function' ? expected(n) : expected
    if (found !== wanted) wrong.push(`case ${n}: ${found}, not ${wanted}`)
  }
  const largest = allocations.stop()
  t.comment(
    `${tried} cases, ${wrong.length} wrong, slowest ${slowestMs.toFixed(1)} ms, largest buffer ${largest} bytes`,
  )
  t.ok(largest > 0 && largest <= 2 * 1024 * 1024, 'no length is used before it is verified')
  t.same(wrong.slice(0, 5), [])
}

test('a cleanly closed log cut at any length is refused', patient, async (t) => {
  const made = await makeLog('closed')
  await every(t, made.bytes, (n) => startOn(made, (disk) => fileOf(disk, made.segment).resize(n)), 'log_damaged')
  t.equal(await startOn(made, () => undefined), records)
})

for (const how of ['closed', 'left'] as const) {
  test(`a log that was ${how} with any bit flipped is refused`, patient, async (t) => {
    const made = await makeLog(how)
    await every(t, made.bytes * 8, (bit) => startOn(made, (disk) => flip(disk, made.segment, bit)), 'log_damaged')
  })
}

test('without TIP only the newest record can be mistaken for a torn write', patient, async (t) => {
  const made = await makeLog('left')
  const harmed = (bit: number) =>
    startOn(made, (disk) => {
      removeTip(disk)
      flip(disk, made.segment, bit)
    })
  await every(t, made.bytes * 8, harmed, (bit) => (bit < made.newestAt * 8 ? 'log_damaged' : records - 1))
})

test('TIP cut at any length, or with any bit flipped, never costs a record', patient, async (t) => {
  const made = await makeLog('closed')
  await every(t, 1024, (n) => startOn(made, (disk) => fileOf(disk, 'TIP').resize(n)), records)
  await every(t, 1024 * 8, (bit) => startOn(made, (disk) => flip(disk, 'TIP', bit)), records)
})

test(
  'frames of another history are refused, even those of the same epoch with the right numbers',
  patient,
  async (t) => {
    const made = await makeLog('closed')
    const other = await makeLog('closed', 100)
    const bytesOf = (from: Made) => {
      const file = from.root.get('data')
      const wal = file instanceof SimDirectory ? file.get('wal') : undefined
      const segment = wal instanceof SimDirectory ? wal.get(from.segment) : undefined
      const bytes = Buffer.alloc(from.bytes)
      if (segment instanceof SimFile) segment.read(bytes, 0)
      return bytes
    }
    t.equal(other.bytes, made.bytes)
    const strange = bytesOf(other).subarray(made.newestAt)
    t.equal(
      await startOn(made, (disk) => fileOf(disk, made.segment).damage((bytes) => strange.copy(bytes, made.newestAt))),
      'log_damaged',
    )
  },
)

test('zeros, a strange name, an empty file and a missing one in the place of a segment are refused', async (t) => {
  const made = await makeLog('closed')
  const rename = (change: (names: Map<string, unknown>) => void) => (disk: SimDisk) => {
    const directory = disk.node(dir)
    if (directory instanceof SimDirectory) directory.damage(change)
  }
  t.equal(await startOn(made, (disk) => fileOf(disk, made.segment).damage((bytes) => bytes.fill(0))), 'log_damaged')
  t.equal(await startOn(made, (disk) => fileOf(disk, made.segment).resize(0)), 'log_damaged')
  t.equal(
    await startOn(
      made,
      rename((names) => names.set('mine.wal', new SimFile())),
    ),
    'log_damaged',
  )
  t.equal(
    await startOn(
      made,
      rename((names) => names.delete(made.segment)),
    ),
    'log_damaged',
  )
})

test('IDENTITY cut at any length, or with any bit flipped, is refused', patient, async (t) => {
  const whole = encodeIdentity({
    uuid: '6f1f3f9e-8b0a-4d43-9d42-3a6f5ad5a0c1',
    formatVersion: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    timeline: 1,
    forkedAfterLsn: 0,
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
  await every(t, whole.length, (n) => read((bytes) => bytes.subarray(0, n)), 'identity_damaged')
  const flipped = (bit: number) =>
    read((bytes) => {
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      return bytes
    })
  await every(t, whole.length * 8, flipped, 'identity_damaged')
})
