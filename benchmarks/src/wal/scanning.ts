// Speed of verifying a log, which reads every byte and compares every checksum and the chain, and of reading its records.
import { join } from 'node:path'
import { type Lsn, nodeVfs, openFileLog, verifyLog } from '@annal/wal'

export interface Scanning {
  readonly megabytes: number
  readonly recordBytes: number
  readonly verifyMegabytesPerSecond: number
  /** The same in CPU time, which other load on the machine does not change. */
  readonly verifyMegabytesPerCpuSecond: number
  readonly readMegabytesPerSecond: number
}

export async function measureScanning(parent: string, recordBytes: number, megabytes: number): Promise<Scanning> {
  const dir = join(parent, `scan-${recordBytes}`)
  const log = await openFileLog({
    dir,
    fsync: 'none',
    freeBytesHard: 0,
    queueRecordsMax: 100_000,
    queueBytesMax: 1 << 30,
  })
  const payload = Buffer.alloc(recordBytes, 7)
  for (let written = 0; written < megabytes * 1e6; ) {
    const group = Array.from({ length: Math.max(1, Math.floor(4e6 / recordBytes)) }, () =>
      log.append({ type: 16, version: 1, payload }),
    )
    await Promise.all(group)
    written += group.length * recordBytes
  }
  await log.sync()
  const read = await measureTime(async () => {
    let bytes = 0
    for await (const record of log.read(1 as Lsn)) bytes += record.payload.length
    return bytes
  })
  await log.close()
  const verify = await measureTime(async () => {
    const report = await verifyLog({ vfs: nodeVfs(), dir })
    if (!report.isGood) throw new Error(`the log is damaged: ${JSON.stringify(report.findings)}`)
    return report.bytes
  })
  return {
    megabytes: verify.bytes / 1e6,
    recordBytes,
    verifyMegabytesPerSecond: verify.bytes / 1e6 / verify.seconds,
    verifyMegabytesPerCpuSecond: verify.bytes / 1e6 / verify.cpuSeconds,
    readMegabytesPerSecond: read.bytes / 1e6 / read.seconds,
  }
}

async function measureTime(
  run: () => Promise<number>,
): Promise<{ bytes: number; seconds: number; cpuSeconds: number }> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  const bytes = await run()
  const seconds = (performance.now() - started) / 1000
  const used = process.cpuUsage(cpu)
  return { bytes, seconds, cpuSeconds: (used.user + used.system) / 1e6 }
}
