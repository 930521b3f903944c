// What truncateBefore removes: every segment whose records are all older, and no other.
import { test } from 'tap'
import { type Log, type Lsn, openFileLog, type Vfs } from '../src/index.ts'
import { ManualClock, SimDisk, seededRandom } from '../src/testing/index.ts'

async function openLog(disk: SimDisk, onWrite: () => void = () => undefined): Promise<Log> {
  disk.faults = ({ call, path }) => {
    if (call === 'write' && path.endsWith('.wal')) onWrite()
    return undefined
  }
  const vfs = disk.vfs()
  await vfs.makeDirectory('/data')
  await vfs.syncDirectory('/')
  return openFileLog({ dir: '/data/wal', vfs, clock: new ManualClock(), segmentBytesMax: 4096, freeBytesHard: 0 })
}

test('a segment goes when its newest record is older than the one to keep, and not before', async (t) => {
  const log = await openLog(new SimDisk({ random: seededRandom(1) }))
  /** The first LSN of each segment. */
  const firsts = [1]
  for (let lsn = 1; lsn <= 60; lsn++) {
    const { segments } = log.state()
    await log.append({ type: 16, version: 1, payload: Buffer.alloc(300, lsn) })
    if (log.state().segments > segments && lsn > 1) firsts.push(lsn)
  }
  t.ok(firsts.length > 4, `${firsts.length} segments`)
  for (let lsn = 1; lsn <= 60; lsn++) {
    await log.truncateBefore(lsn as Lsn)
    t.equal(
      log.state().lsnFirst,
      firsts.findLast((first) => first <= lsn),
      `truncateBefore(${lsn})`,
    )
  }
  await log.close()
})

test('a segment that a reader needs stays, also when the reader begins while the segment moves to the archive', async (t) => {
  const inner = new SimDisk({ random: seededRandom(3) }).vfs()
  await inner.makeDirectory('/data')
  let begin: () => Promise<void> = async () => undefined
  const vfs: Vfs = {
    ...inner,
    async link(from, to) {
      await begin()
      return inner.link(from, to)
    },
  }
  const options = { dir: '/data/wal', archiveDir: '/data/archive/wal', segmentBytesMax: 4096, freeBytesHard: 0 }
  const log = await openFileLog({ ...options, vfs, clock: new ManualClock() })
  for (let lsn = 1; lsn <= 40; lsn++) await log.append({ type: 16, version: 1, payload: Buffer.alloc(300, lsn) })
  const records = log.read(1 as Lsn)[Symbol.asyncIterator]()
  const found: number[] = []
  begin = async () => {
    begin = async () => undefined
    found.push((await records.next()).value.lsn)
  }
  // The second call finds the segment that the first one moves.
  await Promise.all([log.truncateBefore(30 as Lsn), log.truncateBefore(30 as Lsn)])
  for (let next = await records.next(); !next.done; next = await records.next()) found.push(next.value.lsn)
  t.same(
    found,
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  await log.truncateBefore(30 as Lsn)
  const { lsnFirst, segments } = log.state()
  t.ok(lsnFirst > 1 && lsnFirst <= 30, `the log begins with ${lsnFirst}`)
  t.equal((await inner.list('/data/wal')).filter((name) => name.endsWith('.wal')).length, segments)
  await log.close()
})

test('a record that was being written when TIP failed is not acknowledged', async (t) => {
  let failTip: (() => void) | undefined
  const log = await openLog(new SimDisk({ random: seededRandom(2) }), () => failTip?.())
  await log.append({ type: 16, version: 1, payload: Buffer.from('before') })
  // What the timer of TIP does when its file cannot be written, here in the middle of a commit.
  failTip = () => (log as Log & { tipFailed(error: unknown): void }).tipFailed(new Error('no TIP'))
  await t.rejects(log.append({ type: 16, version: 1, payload: Buffer.from('meanwhile') }), { code: 'log_failed' })
  await t.rejects(log.append({ type: 16, version: 1, payload: Buffer.from('after') }), { code: 'log_failed' })
  t.equal(log.state().condition, 'failed')
})
