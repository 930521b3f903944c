// `node scripts/run.mjs benchmarks/src/wal/main.ts`: the cost of the log compared with the bare disk, by number of clients, record size,
// and policy, and the speed of verifying a log. Exits with code 1 if a figure misses its minimum. `--dir DIR` on the disk to measure,
// `--pairs N`, `--quick`, `--out FILE` for a page of Markdown, `--json FILE`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { readOptions } from '../options.ts'
import { type Appending, type Load, measureAppending } from './appending.ts'
import { measureScanning, type Scanning } from './scanning.ts'

const values = readOptions({ dir: os.tmpdir(), pairs: 5, quick: false, out: String, json: String })

const ratioFloor = 0.6
const verifyFloor = 200

const loads: readonly Load[] = [
  { fsync: 'always', clients: 1, recordBytes: 1024, records: 1000 },
  { fsync: 'always', clients: 8, recordBytes: 1024, records: 5000 },
  { fsync: 'always', clients: 64, recordBytes: 1024, records: 40_000 },
  { fsync: 'always', clients: 256, recordBytes: 1024, records: 80_000 },
  { fsync: 'always', clients: 8, recordBytes: 64 * 1024, records: 2000 },
  { fsync: 'always', clients: 4, recordBytes: 3_000_000, records: 100 },
  { fsync: 'interval', clients: 64, recordBytes: 1024, records: 80_000 },
  { fsync: 'none', clients: 64, recordBytes: 1024, records: 80_000 },
]

const parent = mkdtempSync(join(values.dir, 'annal-wal-bench-'))
const appendings: Appending[] = []
const scannings: Scanning[] = []
try {
  for (const load of loads) {
    const sized = values.quick ? { ...load, records: Math.ceil(load.records / 10) } : load
    appendings.push(await measureAppending(parent, sized, values.pairs))
  }
  for (const recordBytes of [1024, 64 * 1024, 3_000_000]) {
    scannings.push(await measureScanning(parent, recordBytes, values.quick ? 50 : 400))
  }
} finally {
  rmSync(parent, { recursive: true, force: true })
}

const page = report()
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ appendings, scannings })}\n`)
process.exitCode = meetsFloors() ? 0 : 1

function meetsFloors(): boolean {
  const main = appendings.find(({ load }) => load.fsync === 'always' && load.clients === 64)
  const slowest = Math.min(...scannings.map((scan) => scan.verifyMegabytesPerCpuSecond))
  return (main?.ratio ?? 0) >= ratioFloor && slowest >= verifyFloor
}

function report(): string {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  return `# The log against the bare disk

\`node scripts/run.mjs benchmarks/src/wal/main.ts\` on ${cpu}, ${os.cpus().length} cores, Node ${process.version}, load ${os
    .loadavg()[0]
    ?.toFixed(1)} at the end.
Ratio: the rate of the log divided by the rate of a loop that writes and syncs the same bytes in the same number of batches, median of
${values.pairs} alternating pairs. Minimum for 64 clients of 1 KiB with \`always\`: ${ratioFloor}. Minimum for verifying, by processor time: ${verifyFloor} MB/s.

| policy | clients | record | acks/s | MB/s | records per sync | p50 ms | p99 ms | ratio |
|---|---|---|---|---|---|---|---|---|
${appendings.map(rowOf).join('\n')}

| record | log MB | verify MB/s | verify MB per processor second | read back MB/s |
|---|---|---|---|---|
${scannings.map((scan) => `| ${scan.recordBytes} | ${scan.megabytes.toFixed(0)} | ${scan.verifyMegabytesPerSecond.toFixed(0)} | ${scan.verifyMegabytesPerCpuSecond.toFixed(0)} | ${scan.readMegabytesPerSecond.toFixed(0)} |`).join('\n')}
`
}

function rowOf({ load, acksPerSecond, megabytesPerSecond, recordsPerSync, p50Ms, p99Ms, ratio }: Appending): string {
  const cells = [load.fsync, load.clients, load.recordBytes, acksPerSecond.toFixed(0), megabytesPerSecond.toFixed(1)]
  return `| ${[...cells, recordsPerSync.toFixed(1), p50Ms.toFixed(2), p99Ms.toFixed(2), ratio.toFixed(2)].join(' | ')} |`
}
