// Every disk call of the log is made to fail once, with every errno. Nothing is acknowledged after a failed write or
// sync, a file whose sync failed is never synced or written again, and a restart finds every acknowledged record.
import { test } from 'tap'
import { type Log, type Lsn, openFileLog, WalError } from '../src/index.ts'
import { type DiskOperation, idle, ManualClock, SimDisk, seededRandom } from '../src/testing/index.ts'
import { cases, patient } from './patience.ts'

const dir = '/data/wal'
const errnos = ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EROFS']

interface Run {
  readonly disk: SimDisk
  /** Payloads by LSN. */
  readonly acked: ReadonlyMap<number, string>
  readonly calls: number
  readonly failed: DiskOperation | undefined
  readonly ackedAfterFailure: number
  readonly condition: string
  /** The log reported it: it could not be opened, failed, or became read-only. */
  readonly isNoticed: boolean
  readonly isReported: boolean
  readonly callsAfterOnHandle: string[]
  readonly openError: unknown
}

/** A fixed script of a little more than 300 calls; call number `failAt` fails. */
async function script(failAt: number, errno: string): Promise<Run> {
  let calls = 0
  let failed: DiskOperation | undefined
  let ackedAfterFailure = 0
  const callsAfterOnHandle: string[] = []
  const disk = new SimDisk({ random: seededRandom(failAt) })
  await disk.vfs().makeDirectory('/data')
  await disk.vfs().syncDirectory('/')
  disk.faults = (operation) => {
    calls++
    if (failed?.call === 'datasync' && failed.handle === operation.handle && operation.handle > 0) {
      callsAfterOnHandle.push(operation.call)
    }
    if (calls !== failAt) return undefined
    failed = operation
    return { errno }
  }
  const clock = new ManualClock()
  const acked = new Map<number, string>()
  let log: Log | undefined
  let openError: unknown
  let isNoticed = false
  let isReported = false
  try {
    log = await openFileLog({
      dir,
      vfs: disk.vfs(),
      clock,
      makeEpoch: () => BigInt(failAt + 1),
      segmentBytesMax: 2048,
      freeBytesHard: 0,
      onFailed: () => {
        isNoticed = true
      },
      onNotice: (notice) => {
        isNoticed ||= notice.kind === 'read-only'
      },
    })
    for (let i = 0; i < 60; i++) {
      const before = failed !== undefined
      const payload = Buffer.from(`${i}:${'x'.repeat((i * 37) % 300)}`)
      const appends = [payload, Buffer.from(`${i}b`)].map((bytes) =>
        log?.append({ type: 16, version: 1, payload: bytes }),
      )
      for (const [k, result] of (await Promise.allSettled(appends)).entries()) {
        if (result.status !== 'fulfilled') continue
        if (result.value !== undefined) acked.set(result.value.lsn, k === 0 ? payload.toString() : `${i}b`)
        // TIP is written in parallel with acknowledgments, so records that were synced before its failure may still be
        // acknowledged.
        if (before || (failed !== undefined && !failed.path.endsWith('TIP'))) ackedAfterFailure++
      }
      if (i % 7 === 0) {
        clock.advance(120)
        await idle()
      }
      if (i !== 40) continue
      // A failed removal is reported to its caller, and the log continues.
      await log.truncateBefore(20 as Lsn).catch(() => {
        isReported = true
      })
    }
    await idle()
  } catch (error) {
    openError = error
    isNoticed = true
  }
  const condition = log?.state().condition ?? 'not open'
  await log?.close().catch(() => undefined)
  return {
    disk,
    acked,
    calls,
    failed,
    ackedAfterFailure,
    condition,
    isNoticed,
    isReported: isReported,
    callsAfterOnHandle,
    openError,
  }
}

/** Calls whose failure does not affect the written or future content of the log. */
function isHarmless({ call, path }: DiskOperation, errno: string): boolean {
  const isFull = errno === 'ENOSPC' || errno === 'EDQUOT'
  return ['freeBytes', 'remove', 'exists'].includes(call) || (call === 'write' && path.endsWith('TIP') && isFull)
}

async function recovered(disk: SimDisk, how: 'kill' | 'power'): Promise<string[]> {
  disk.faults = undefined
  disk.restart(how)
  const log = await openFileLog({
    dir,
    vfs: disk.vfs(),
    clock: new ManualClock(),
    makeEpoch: () => 5n,
    freeBytesHard: 0,
  })
  const found: string[] = []
  for await (const record of log.read(log.state().lsnFirst)) found.push(Buffer.from(record.payload).toString())
  await log.close()
  return found
}

test('no call can fail in a way that costs an acknowledged record', patient, async (t) => {
  const plain = await script(0, 'EIO')
  t.ok(plain.calls > 300, `the script makes ${plain.calls} calls`)
  t.equal(plain.acked.size, 120)
  const wrong: string[] = []
  const conditions: Record<string, number> = {}
  for (const n of cases(plain.calls)) {
    const k = n + 1
    for (const errno of errnos) {
      const run = await script(k, errno)
      const name = `call ${k} ${run.failed?.call} ${run.failed?.path} ${errno}`
      conditions[run.condition] = (conditions[run.condition] ?? 0) + 1
      if (run.openError !== undefined && !(run.openError instanceof WalError))
        wrong.push(`${name}: ${String(run.openError)}`)
      if (run.callsAfterOnHandle.some((call) => call !== 'close')) wrong.push(`${name}: then ${run.callsAfterOnHandle}`)
      const isSerious =
        run.failed !== undefined && !isHarmless(run.failed, errno) && !(run.isReported && !run.isNoticed)
      if (run.ackedAfterFailure > 0 && isSerious) wrong.push(`${name}: acknowledged after it`)
      if (isSerious && !run.isNoticed) wrong.push(`${name}: not reported`)
      for (const how of ['kill', 'power'] as const) {
        const found = await recovered(run.disk, how)
        // The script itself removed the records below LSN 20.
        for (const [lsn, payload] of run.acked)
          if (lsn >= 20 && !found.includes(payload)) wrong.push(`${name}: lost LSN ${lsn} after ${how}`)
      }
    }
  }
  t.comment(JSON.stringify(conditions))
  t.same(wrong.slice(0, 20), [])
})
