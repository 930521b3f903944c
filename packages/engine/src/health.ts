// The health of an engine: one word for its state, and sentences for the notices of the log.
import type { LogNotice, LogState } from '@annal/wal'
import type { EngineHealth } from './model/engine-stats.ts'

/** The share of the possible number of fields from which a warning is given. */
const fieldsShareHigh = 0.9

/** What an engine is doing. */
export type Phase = 'starting' | 'recovering' | 'open' | 'closed'

interface Known {
  readonly phase: Phase
  readonly log: LogState | undefined
  readonly failure: Error | undefined
  readonly notices: readonly string[]
  readonly collections: Iterable<{
    readonly name: string
    readonly condition: string
    readonly reason: string | undefined
  }>
}

/** The health of an engine from its parts. */
export function healthOf({ phase, log, failure, notices, collections }: Known): EngineHealth {
  const reasons = [...notices]
  for (const { name, condition, reason = 'see its description' } of collections)
    if (condition === 'quarantined') reasons.push(`collection "${name}" is out of service: ${reason}`)
  // The failure of a log that cannot be written says the same and what it means.
  if (log?.reason && !failure?.message.includes(log.reason)) reasons.push(log.reason)
  if (failure) reasons.push(failure.message)
  return { status: failure ? 'failed' : statusOf(phase, log, reasons.length), reasons }
}

/** A warning when only a few more fields can hold data. */
export function roomLeft(memories: number, max: number): string[] {
  if (memories < max * fieldsShareHigh) return []
  return [`${memories} fields hold data; the address space of this process is enough for about ${max}`]
}

function statusOf(phase: Phase, log: LogState | undefined, reasons: number): EngineHealth['status'] {
  if (log?.condition === 'failed') return 'failed'
  if (phase === 'closed') return 'closed'
  if (phase !== 'open') return 'starting'
  if (log?.condition === 'read-only') return 'read-only'
  return reasons > 0 ? 'degraded' : 'ok'
}

/** A notice of the log as a sentence for operators. */
export function sentenceOf(notice: LogNotice): string {
  switch (notice.kind) {
    case 'tail-cut':
      return `${notice.bytes} bytes that were never acknowledged were cut from the end of the log; its last record is ${notice.lsnLast}`
    case 'tip-damaged':
      return `${notice.slots} of 2 slots of wal/TIP are damaged; the end of the log was found from its segments`
    case 'slow-sync':
      return `the disk took ${Math.round(notice.tookMs)} ms to make writes durable`
    case 'read-only':
      return `writes are rejected: ${notice.reason}`
    case 'writable':
      return 'writes are accepted again'
    case 'waiting-for-lock':
      return `${notice.pid === undefined ? 'the process' : `process ${notice.pid}`} that holds the data directory is exiting; waiting for it, up to 5 s`
  }
}
