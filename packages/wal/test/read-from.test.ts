// Reading from a record on costs what follows it, not what the segment has before it: also for the first reader after a start.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { type Lsn, nodeVfs, openFileLog, type Vfs } from '../src/index.ts'

const payloadBytes = 100_000
const records = 60
/** A mark is at most this far before a record, and readers read a block at once. */
const aheadBytesMax = 3 * 2 ** 20

/** A file system that counts the bytes that are read. */
function counting(vfs: Vfs): { readonly vfs: Vfs; read(): number } {
  let bytesRead = 0
  return {
    read: () => bytesRead,
    vfs: {
      ...vfs,
      async open(path, mode) {
        const file = await vfs.open(path, mode)
        return {
          ...file,
          async read(bytes, position) {
            const got = await file.read(bytes, position)
            bytesRead += got
            return got
          },
        }
      },
    },
  }
}

for (const end of ['clean', 'unclean'] as const) {
  test(`the first reader after ${end === 'clean' ? 'a clean' : 'an unclean'} stop begins near its first record`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'annal-read-from-'))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    const disk = counting(nodeVfs())
    const options = { vfs: disk.vfs, dir: join(dir, 'wal'), freeBytesHard: 0 }
    const before = await openFileLog(options)
    for (let i = 0; i < records; i++)
      await before.append({ type: 16, version: 1, payload: Buffer.alloc(payloadBytes, i) })
    // Without a close, the next start finds a log that was in use.
    if (end === 'clean') await before.close()
    const log = await openFileLog(options)
    const opened = disk.read()
    t.ok(opened >= records * payloadBytes, 'a start verifies the whole segment')
    const found: number[] = []
    for await (const { lsn, payload } of log.read((records - 1) as Lsn)) {
      found.push(lsn)
      t.equal(payload[0], lsn - 1)
    }
    t.same(found.slice(0, 2), [records - 1, records])
    t.ok(disk.read() - opened < aheadBytesMax, `${disk.read() - opened} bytes are read`)
    const all: number[] = []
    for await (const { lsn } of log.read(1 as Lsn)) all.push(lsn)
    t.same(
      all,
      Array.from({ length: records }, (_, i) => i + 1),
      'marks hide nothing',
    )
    await log.close()
    if (end === 'unclean') await before.close().catch(() => undefined)
  })
}
