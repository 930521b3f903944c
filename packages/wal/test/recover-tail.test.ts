// Bytes that only the page cache had, because their sync failed, may be read during the scan of a start and be gone a moment later. The
// segment that a start writes again does not get what takes their place.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { type FileLogOptions, type Lsn, nodeVfs, openFileLog, type Vfs } from '../src/index.ts'

/** A file system that reads a record differently from a moment on. */
function forgetful(text: string) {
  const inner = nodeVfs()
  let forgets = false
  const vfs: Vfs = {
    ...inner,
    async open(path, mode) {
      const file = await inner.open(path, mode)
      return {
        ...file,
        async read(bytes, position) {
          const got = await file.read(bytes, position)
          const at = Buffer.from(bytes.buffer, bytes.byteOffset, got).indexOf(text)
          if (forgets && path.endsWith('.wal') && at >= 0) bytes.fill(0, at, at + text.length)
          return got
        },
      }
    },
  }
  const forget = () => {
    forgets = true
  }
  return { vfs, forget }
}

async function lostLog(t: Test) {
  const dir = mkdtempSync(join(tmpdir(), 'annal-recover-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const options: FileLogOptions = { dir, freeBytesHard: 0 }
  const log = await openFileLog(options)
  for (const text of ['first-record', 'second-record', 'third-record'])
    await log.append({ type: 16, version: 1, payload: Buffer.from(text) })
  // A copy of a log in use has no clean end.
  const copy = mkdtempSync(join(tmpdir(), 'annal-recover-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  await log.sync()
  const names = readdirSync(dir)
  const vfs = nodeVfs()
  for (const name of names) {
    const file = await vfs.open(join(copy, name), 'create')
    await file.write(readFileSync(join(dir, name)), 0)
    await file.close()
  }
  await log.close()
  return copy
}

test('a start refuses bytes that changed since it scanned them, and changes nothing', async (t) => {
  const dir = await lostLog(t)
  const before = readdirSync(dir)
  const disk = forgetful('second-record')
  const opening = openFileLog({ dir, freeBytesHard: 0, vfs: disk.vfs, onProgress: disk.forget })
  await t.rejects(opening, { code: 'log_failed', message: /has other bytes at offset \d+ than when it was scanned/ })
  t.same(readdirSync(dir), before)
  const log = await openFileLog({ dir, freeBytesHard: 0 })
  const texts: string[] = []
  for await (const { payload } of log.read(1 as Lsn)) texts.push(Buffer.from(payload).toString())
  t.same(texts, ['first-record', 'second-record', 'third-record'])
  await log.close()
})
