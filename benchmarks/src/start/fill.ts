// The child process that fills a directory: inserts objects at full speed, measures writes and searches without and during a checkpoint of
// all of them, appends records that no checkpoint covers, and waits to be killed. Arguments: directory, objects, tail.
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { loadDuring, measureTime, summarizeLoad } from './load.ts'
import { definition, objectOf } from './objects.ts'

const [, , dataDir = '', objects, tail] = process.argv
const count = Number(objects)
const tailCount = Number(tail)
const batch = 1_000
const quietMs = 15_000

const engine = await openEngine({ dataDir })
const collection = await engine.database().createCollection(definition)

async function insert(from: number, rows: number): Promise<void> {
  for (let n = from; n < from + rows; n += batch) {
    const size = Math.min(batch, from + rows - n)
    await collection.upsert(Array.from({ length: size }, (_, i) => objectOf(n + i)))
    if (n % 50_000 === 0) console.error(`${n - from} of ${rows}`)
  }
}

const fillMs = await measureTime(() => insert(0, count))
await engine.checkpoint()
const quiet = await loadDuring(collection, count, () => sleep(quietMs))
let checkpointMs = 0
const busy = await loadDuring(collection, 2 * count, async () => {
  checkpointMs = await measureTime(() => engine.checkpoint())
})
await engine.checkpoint()
const cpuFrom = process.cpuUsage()
const liveMs = await measureTime(() => insert(3 * count, tailCount))
const cpu = process.cpuUsage(cpuFrom)
const liveCpuMs = (cpu.user + cpu.system) / 1_000
const { memory, lsnApplied, lsnCheckpoint } = engine.stats()
const loads = { quiet: summarizeLoad([quiet]), busy: summarizeLoad([busy]) }
const found = { fillMs, checkpointMs, ...loads, liveMs, liveCpuMs, memory, tailRecords: lsnApplied - lsnCheckpoint }
process.stdout.write(`${JSON.stringify(found)}\n`)
setInterval(() => undefined, 1_000)
