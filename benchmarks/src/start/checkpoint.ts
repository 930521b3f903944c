// `node scripts/run.mjs benchmarks/src/start/checkpoint.ts DIR [ROUNDS]`: what checkpoints do to writes and searches of a directory
// that main.ts filled (`--dir`). Quiet times and checkpoints take turns, so that whatever else the machine does meets both.
// To compare two versions of Annal let them take turns as well, each with a directory of its own.
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { loadDuring, loadOf, rounded, type Times, timed } from './load.ts'

const quietMs = 5_000

const [, , dataDir = '', rounds = '4'] = process.argv
const engine = await openEngine({ dataDir })
const collection = engine.database().collection('objects')
// Behind every object that there is or was.
let next = 10 * (engine.stats().objects + engine.stats().lsnApplied)
const times: { readonly quiet: Times[]; readonly busy: Times[] } = { quiet: [], busy: [] }
const checkpointMs: number[] = []
for (let round = 0; round < Number(rounds); round++) {
  times.quiet.push(await loadDuring(collection, next, () => sleep(quietMs)))
  const checkpoint = async () => {
    checkpointMs.push(rounded(await timed(() => engine.checkpoint())))
  }
  times.busy.push(await loadDuring(collection, next + 50_000, checkpoint))
  next += 100_000
}
const [quiet, busy] = [loadOf(times.quiet), loadOf(times.busy)]
const report = {
  objects: engine.stats().objects,
  load: os.loadavg().map(rounded),
  checkpointMs,
  quiet,
  busy,
  writeP99: rounded(busy.writes.p99Ms / quiet.writes.p99Ms),
  searchP99: rounded(busy.searches.p99Ms / quiet.searches.p99Ms),
}
console.log(JSON.stringify(report, undefined, 2))
await engine.close()
