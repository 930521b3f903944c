// A process that opens a directory and prints the digests of its collections. Arguments: directory, threads, maximum bytes of one read, and
// `busy` to keep the other cores busy.
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { nodeVfs, type Vfs } from '@annal/wal'
import { digestsOf } from './work.ts'

const [, , dataDir = '', threads, readBytesMax, busy] = process.argv
if (busy === 'busy') new Worker('for (;;) Math.sqrt(2)', { eval: true }).unref()

/** Reads return fewer bytes than requested. */
function readingLittle(inner: Vfs, bytesMax: number): Vfs {
  return {
    ...inner,
    async open(path, mode) {
      const file = await inner.open(path, mode)
      return { ...file, read: (bytes, position) => file.read(bytes.subarray(0, bytesMax), position) }
    },
  }
}

const vfs = readingLittle(nodeVfs(), Number(readBytesMax))
const engine = await openEngine({ dataDir, threads: Number(threads), keepLog: true }, { vfs })
const database = engine.database()
const { lsnCheckpoint, lsnApplied } = engine.stats()
const digests = digestsOf(['float32', 'int8'].map((name) => database.collection(name)))
console.log(JSON.stringify({ digests, replayed: lsnApplied - lsnCheckpoint }))
process.exit(0)
