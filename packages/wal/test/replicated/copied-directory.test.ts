// A copy of a log that lost its end is refused, and not extended with zeros.
import { test } from 'tap'
import { createIdentity, openFileLog, positionBefore, readPiece } from '../../src/index.ts'
import { CopiedDirectory } from '../../src/replicated/index.ts'
import { ManualClock, SimDisk, seededRandom } from '../../src/testing/index.ts'

test('a copy whose newest segment is shorter than noted, or missing, is refused and not changed', async (t) => {
  const vfs = new SimDisk({ random: seededRandom(1) }).vfs()
  for (const dir of ['/from', '/to']) await vfs.makeDirectory(dir)
  const log = await openFileLog({ dir: '/from/wal', vfs, clock: new ManualClock(), freeBytesHard: 0 })
  for (let i = 0; i < 9; i++) await log.append({ type: 16, version: 1, payload: Buffer.alloc(100, i) })
  const place = { vfs, dirs: ['/from/wal'] }
  const begin = positionBefore({ id: 1, lsnFirst: 1 })
  const piece = await readPiece(place, begin, { to: 9, bytesMax: Number.POSITIVE_INFINITY })
  await log.close()
  const identity = await createIdentity({ dir: '/to', vfs })
  const lock = { release: async () => undefined }
  const open = (end = piece?.next) => CopiedDirectory.open({ dir: '/to', vfs, identity, lock, end })
  const empty = await CopiedDirectory.open({ dir: '/to', vfs, identity, lock, end: undefined })
  const { bytes: body = Buffer.alloc(0), from = begin, lsnLast = 0 } = piece ?? {}
  t.equal((await empty.add({ from, body, lsnLast })).length, 9)
  t.equal((await open()).log.state().lsnLast, 9)

  const [name = ''] = (await vfs.list('/to/wal')).filter((one) => one.endsWith('.wal'))
  const file = await vfs.open(`/to/wal/${name}`, 'write')
  await file.truncate(body.length - 1)
  await t.rejects(open(), { code: 'log_damaged', message: /has 1\d{3} bytes, and the copy has 1\d{3}/ })
  t.equal(await file.size(), body.length - 1)
  await file.close()
  await vfs.remove(`/to/wal/${name}`)
  await t.rejects(open(), { code: 'log_damaged', message: name })
})
