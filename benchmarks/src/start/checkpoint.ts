// `node scripts/run.mjs benchmarks/src/start/checkpoint.ts DIR`: what a checkpoint does to writes and searches of a directory that
// main.ts filled (`--dir`), twice. To compare two versions of Annal on a machine that does other things as well, let them
// take turns, each with a directory of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { loadDuring, rounded, timed } from './load.ts'

const quietMs = 6_000
const rounds = 2

const engine = await openEngine({ dataDir: process.argv[2] ?? '' })
const collection = engine.database().collection('objects')
// Behind every object that there is or was.
let next = 10 * (engine.stats().objects + engine.stats().lsnApplied)
for (let round = 0; round < rounds; round++) {
  const quiet = await loadDuring(collection, next, () => sleep(quietMs))
  let checkpointMs = 0
  const busy = await loadDuring(collection, next + 50_000, async () => {
    checkpointMs = await timed(() => engine.checkpoint())
  })
  next += 100_000
  console.log(JSON.stringify({ checkpointMs: rounded(checkpointMs), quiet, busy }))
}
await engine.close()
