// `node scripts/run.mjs benchmarks/src/start/checkpoint.ts DIR [ROUNDS]`: the effect of checkpoints on writes and searches of a directory
// that main.ts filled (`--dir`). Quiet periods and checkpoints alternate, so that other work on the machine affects both. To compare two
// versions of Annal, run them alternately, each with its own directory.
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { loadDuring, measureTime, roundMs, summarizeLoad, type Times } from './load.ts'

const quietMs = 5_000

const [, , dataDir = '', rounds = '4'] = process.argv
const engine = await openEngine({ dataDir })
const collection = engine.database().collection('objects')
// Higher than the number of every object so far.
let next = 10 * (engine.stats().objects + engine.stats().lsnApplied)
const times: { readonly quiet: Times[]; readonly busy: Times[] } = { quiet: [], busy: [] }
const checkpointMs: number[] = []
for (let round = 0; round < Number(rounds); round++) {
  times.quiet.push(await loadDuring(collection, next, () => sleep(quietMs)))
  const checkpoint = async () => {
    checkpointMs.push(roundMs(await measureTime(() => engine.checkpoint())))
  }
  times.busy.push(await loadDuring(collection, next + 50_000, checkpoint))
  next += 100_000
}
const [quiet, busy] = [summarizeLoad(times.quiet), summarizeLoad(times.busy)]
const report = {
  objects: engine.stats().objects,
  load: os.loadavg().map(roundMs),
  checkpointMs,
  quiet,
  busy,
  writeP99: roundMs(busy.writes.p99Ms / quiet.writes.p99Ms),
  searchP99: roundMs(busy.searches.p99Ms / quiet.searches.p99Ms),
}
console.log(JSON.stringify(report, undefined, 2))
await engine.close()
