// The bytes of the log and of checkpoints are what a start loads; other files are not.
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'tap'
import { bytesToLoad } from '../src/start-work.ts'
import { temporaryDirectory } from './running-app.ts'

test('files of the log and of checkpoints count, and nothing else', async (t) => {
  const dir = await temporaryDirectory(t)
  t.equal(bytesToLoad(path.join(dir, 'not there')), 0)
  t.equal(bytesToLoad(dir), 0)
  for (const folder of ['wal', 'checkpoints/7', 'originals']) await mkdir(path.join(dir, folder), { recursive: true })
  await writeFile(path.join(dir, 'wal', '1.wal'), Buffer.alloc(1_000))
  await writeFile(path.join(dir, 'checkpoints', '7', 'manifest'), Buffer.alloc(20))
  await writeFile(path.join(dir, 'originals', 'chunk'), Buffer.alloc(3))
  t.equal(bytesToLoad(dir), 1_020)
})
