// What truncateBefore removes: every segment whose records are all older, and no other.
import { test } from 'tap'
import { type Log, type Lsn, openFileLog } from '../src/index.ts'
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
