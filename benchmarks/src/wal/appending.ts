// Acknowledgements per second of the log, compared with those of the bare disk for the same bytes in the same batches.
import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FsyncPolicy, openFileLog } from '@annal/wal'

export interface Load {
  readonly fsync: FsyncPolicy
  readonly clients: number
  readonly recordBytes: number
  readonly records: number
}

export interface Appending {
  readonly load: Load
  readonly acksPerSecond: number
  readonly megabytesPerSecond: number
  readonly recordsPerSync: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Rate of the log divided by the rate of the raw loop; median of the pairs. */
  readonly ratio: number
}

interface LogRun {
  readonly seconds: number
  readonly bytes: number
  readonly syncs: number
  readonly latenciesMs: readonly number[]
}

/** Log and raw loop alternate, so that a slow moment of the machine affects both. */
export async function measureAppending(parent: string, load: Load, pairs: number): Promise<Appending> {
  const runs: { log: LogRun; rawSeconds: number }[] = []
  for (let pair = 0; pair < pairs; pair++) {
    const dir = await mkdtemp(join(parent, 'wal-bench-'))
    try {
      const log = await runLog(join(dir, 'wal'), load)
      runs.push({ log, rawSeconds: await runRaw(join(dir, 'raw'), log) })
    } finally {
      await rm(dir, { recursive: true })
    }
  }
  const best = runs.toSorted((a, b) => a.log.seconds - b.log.seconds)[Math.floor(runs.length / 2)]
  if (best === undefined) throw new Error('at least one pair is needed')
  const ratios = runs.map(({ log, rawSeconds }) => rawSeconds / log.seconds).toSorted((a, b) => a - b)
  const latencies = best.log.latenciesMs.toSorted((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    load,
    acksPerSecond: load.records / best.log.seconds,
    megabytesPerSecond: best.log.bytes / best.log.seconds / 1e6,
    recordsPerSync: load.records / Math.max(1, best.log.syncs),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    ratio: ratios[Math.floor(ratios.length / 2)] ?? 0,
  }
}

async function runLog(dir: string, load: Load): Promise<LogRun> {
  const log = await openFileLog({ dir, fsync: load.fsync, freeBytesHard: 0 })
  const payload = Buffer.alloc(load.recordBytes, 7)
  const latenciesMs: number[] = []
  const before = log.state()
  let next = 0
  const started = performance.now()
  const client = async () => {
    while (next < load.records) {
      next++
      const from = performance.now()
      await log.append({ type: 16, version: 1, payload })
      latenciesMs.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: load.clients }, client))
  if (load.fsync !== 'always') await log.sync()
  const seconds = (performance.now() - started) / 1000
  const after = log.state()
  await log.close()
  return { seconds, bytes: after.bytes - before.bytes, syncs: after.syncs - before.syncs, latenciesMs }
}

/** The same number of writes and syncs of the same bytes, without a log. */
async function runRaw(path: string, log: LogRun): Promise<number> {
  const rounds = Math.max(1, log.syncs)
  const batch = Buffer.alloc(Math.ceil(log.bytes / rounds), 7)
  const file = await open(path, 'wx+')
  const started = performance.now()
  for (let round = 0; round < rounds; round++) {
    await file.write(batch, 0, batch.length, round * batch.length)
    await file.datasync()
  }
  const seconds = (performance.now() - started) / 1000
  await file.close()
  return seconds
}
