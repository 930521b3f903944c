// A server's life: it listens first, so that health can tell how far opening is, then opens the engine; it ends in the
// reverse order.
import { Server as HttpsServer } from 'node:https'
import path from 'node:path'
import { type Engine, type EngineOptions, openEngine, type Progress, type ReceivedSearch } from '@annal/engine'
import { readTls } from './access/tls.ts'
import { createApp, licensingFor, schedulesIn, version } from './app.ts'
import { Carrier } from './backups/carrier.ts'
import { BackupSchedule } from './backups/scheduler.ts'
import type { Config } from './config.ts'
import { EngineSlot } from './engine-slot.ts'
import { connectionsMax, shutdownGraceMs } from './http/limits.ts'
import { createAudit } from './observe/audit.ts'
import { QueryLog } from './observe/query-log.ts'
import { openTracing } from './observe/tracing.ts'

const idleSweepMs = 50
const noteTimeEveryMs = 24 * 3_600_000

export interface ServerEvents {
  readonly onProgress?: (progress: Progress) => void
  /** The engine cannot keep its promises any more; the process should end. */
  readonly onFailed?: (error: Error) => void
}

export interface RunningServer {
  /** `http://127.0.0.1:8080` */
  readonly address: string
  /** Settles when the engine is open; rejects when it cannot be opened, or was stopped before. */
  readonly ready: Promise<Engine>
  /** Reloads certificate and key; open connections keep theirs. Rejects without a change if they cannot be loaded. */
  reloadTls(): Promise<void>
  /** Stops accepting requests, finishes the running ones, and closes the engine. Idempotent. */
  stop(): Promise<void>
}

/** Rejects when the address cannot be listened on or the certificate cannot be used. */
export async function startServer(config: Config, events: ServerEvents = {}): Promise<RunningServer> {
  const slot = new EngineSlot()
  const audit = createAudit(path.join(config.dataDir, 'audit'))
  const tls = await readTls(config)
  const licensing = licensingFor(config, slot)
  const tracing = await openTracing(config, version)
  const app = createApp({ slot, config, audit, tls, tracing, ...(licensing === undefined ? {} : { licensing }) })
  // With Node's own backlog of 511 the system refuses connections, by a reset, that come while a server with much to do takes
  // one a turn.
  const address = await app.listen({ host: config.host, port: config.port, backlog: connectionsMax })
  let audited: Promise<void> | undefined
  let licensed: Promise<void> | undefined
  let early: Engine | undefined
  const serving = (engine: Engine): void => {
    early = engine
    // Only now that the engine owns the directory: nothing is written into one that another process has open.
    audited = audit.open()
    // What a license unlocks is not refused for the moment that reading it takes.
    licensed = (licensing?.open(engine.id) ?? Promise.resolve()).then(() => slot.fillEarly(engine))
  }
  const notice = (sentence: string): void => app.log.warn(sentence)
  let schedule: BackupSchedule | undefined
  const queries = new QueryLog(path.join(config.dataDir, 'queries'), config.queryLogPercent, (error) =>
    notice(`searches are no longer recorded: ${error.message}`),
  )
  const queryLog = config.queryLogPercent > 0 ? { onSearch: (search: ReceivedSearch) => queries.note(search) } : {}
  const options = { ...engineOptions(config, slot, events), ...queryLog, onServing: serving, onNotice: notice }
  const ready = openEngine(options).then(
    async (engine) => {
      await audited
      await licensed
      slot.fill(engine)
      schedule = new BackupSchedule(engine, {
        everything: everythingIn(config),
        schedules: schedulesIn(slot),
        carrier: await carrierOf(config),
        dataDir: config.dataDir,
        onNotice: notice,
      })
      slot.watch(() => schedule?.faults ?? [])
      const fault = licensing?.fault()
      if (fault !== undefined) notice(fault)
      return engine
    },
    async (error) => {
      await licensed
      slot.empty()
      throw error
    },
  )
  // Where the log takes no writes the time stays unknown to it; nothing else depends on that.
  const noteTime = () => (slot.isOpen() ? licensing?.noteTime().catch(() => undefined) : undefined)
  const noting = setInterval(noteTime, noteTimeEveryMs).unref()
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    const cut = setTimeout(() => app.server.closeAllConnections(), shutdownGraceMs)
    // A connection whose last answer is on its way when closing begins becomes idle only after it.
    const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs)
    await app.close()
    clearInterval(sweep)
    clearTimeout(cut)
    await tracing?.close()
    // Closing the engine stops a running replay. An engine that could not be opened has nothing to close; `ready` rejects with the
    // reason.
    const engine = early ?? (await ready.catch(() => undefined))
    await schedule?.stop()
    clearInterval(noting)
    await noteTime()
    await audited
    await audit.close()
    await queries.close()
    await engine?.close()
  }
  return {
    address,
    ready,
    async reloadTls() {
      const renewed = await readTls(config)
      if (renewed !== undefined && app.server instanceof HttpsServer) app.server.setSecureContext(renewed)
    },
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

function everythingIn({ backupEveryHours: hours, backupKeep: keep, backupCheck: check }: Config) {
  return hours === undefined ? undefined : { everyMs: hours * 3_600_000, keep, check }
}

async function carrierOf({ backupBucket, backupBucketKeep: keep, backupCheck: check }: Config) {
  if (backupBucket === undefined) return undefined
  // Only who carries backups away pays for the library that does it.
  const { Bucket } = await import('./backups/bucket.ts')
  return new Carrier({ bucket: new Bucket(backupBucket), keep, check })
}

function engineOptions(config: Config, slot: EngineSlot, events: ServerEvents): EngineOptions {
  const { topKMax, batchMax, collectionsMax, backupMsMax } = config
  return {
    dataDir: config.dataDir,
    fsync: config.fsync,
    ...(config.threads === undefined ? {} : { threads: config.threads }),
    limits: { topKMax, batchMax, collectionsMax, backupMsMax },
    archive: config.archive,
    keepLog: config.keepLog,
    onProgress: (progress) => {
      slot.report(progress)
      events.onProgress?.(progress)
    },
    ...(events.onFailed === undefined ? {} : { onFailed: events.onFailed }),
  }
}
