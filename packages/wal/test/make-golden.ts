// Writes the golden data directory of the current format. Run it once when a format is released; the result is kept
// forever and never rewritten. Argument: the directory to create.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openDataDirectory } from '../src/index.ts'

const [target = ''] = process.argv.slice(2)
const closed = join(target, 'closed')
const left = join(target, 'left')
const data = await openDataDirectory({ dir: closed, segmentBytesMax: 4096, freeBytesHard: 0 })
for (let i = 1; i <= 100; i++) {
  await data.log.append({ type: 16 + (i % 3), version: i % 5, payload: Buffer.alloc(1 + ((i * 29) % 200), i) })
}
// The same directory as left by a process that is killed here.
mkdirSync(join(left, 'wal'), { recursive: true })
copyFileSync(join(closed, 'IDENTITY'), join(left, 'IDENTITY'))
for (const name of readdirSync(join(closed, 'wal'))) copyFileSync(join(closed, 'wal', name), join(left, 'wal', name))
await data.close()
