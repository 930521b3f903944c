// A process that opens a directory and prints the cost: CPU time, which other processes do not affect, and peak memory. Argument:
// directory.
import { openEngine } from '@annal/engine'

const before = process.cpuUsage()
const engine = await openEngine({ dataDir: process.argv[2] ?? '', threads: 1, keepLog: true })
const { user, system } = process.cpuUsage(before)
const { lsnApplied, lsnCheckpoint, log } = engine.stats()
const cost = {
  cpuMs: (user + system) / 1_000,
  peakBytes: process.resourceUsage().maxRSS * 1024,
  replayed: lsnApplied - lsnCheckpoint,
  logBytes: log.bytes,
}
console.log(JSON.stringify(cost))
process.exit(0)
