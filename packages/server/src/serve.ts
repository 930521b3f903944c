// The life of a server: it listens first, so that health can report the progress, then it opens the engine. It stops in the reverse
// order.
import { Server as HttpsServer } from 'node:https'
import path from 'node:path'
import { type Engine, type EngineOptions, openEngine, type Progress, type ReceivedSearch } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { readTls, type TlsOptions } from './access/tls.ts'
import { createApp, licensingFor, schedulesIn, version } from './app.ts'
import type { BucketArchive } from './archive/bucket-archive.ts'
import type { Follower } from './archive/follower.ts'
import { Carrier } from './backups/carrier.ts'
import { BackupSchedule } from './backups/scheduler.ts'
import type { ClusterConfig } from './cluster/cluster-config.ts'
import type { RoleChange } from './cluster/node-control.ts'
import { Collector, collectGarbage } from './collector.ts'
import { type Config, ConfigError } from './config.ts'
import { Providers } from './embed/providers.ts'
import { EngineSlot } from './engine-slot.ts'
import type { Licensing } from './license/licensing.ts'
import { connectionsMax, shutdownGraceMs } from './limits.ts'
import { memoryLimit, memoryLimitMin } from './memory-limit.ts'
import { certificateEnd } from './metrics/host-facts.ts'
import { type MetricsExport, openMetricsExport } from './metrics/metrics-export.ts'
import { type Audit, AuditLog } from './observe/audit.ts'
import { type LogExport, openLogExport } from './observe/log-export.ts'
import { QueryLog } from './observe/query-log.ts'
import { openTracing, type Tracing } from './observe/tracing.ts'
import { SharedState } from './serving/shared-state.ts'
import { ThreadedServer } from './serving/threaded-server.ts'

const idleSweepMs = 50
const noteTimeEveryMs = 24 * 3_600_000

/** What the caller of startServer learns about the engine. */
export interface ServerEvents {
  readonly onProgress?: (progress: Progress) => void
  /** The engine has failed and serves no more requests; the process should exit. */
  readonly onFailed?: (error: Error) => void
}

/** Listens, then opens the engine. Rejects if it cannot listen on the address or load the certificate. */
export async function startServer(config: Config, events: ServerEvents = {}): Promise<RunningServer> {
  checkMemory(config.memoryMegabytesMax)
  const slot = new EngineSlot()
  const providers = new Providers(config.providers)
  slot.providers = providers
  slot.watch(() => providers.reasons())
  const audit = new AuditLog(path.join(config.dataDir, 'audit'))
  const tls = await readTls(config)
  const licensing = licensingFor(config, slot)
  noteCertificate(slot, tls)
  const [tracing, metricsExport, logExport] = await Promise.all([
    openTracing(config, version),
    openMetricsExport(config, version),
    openLogExport(config, version),
  ])
  const shared = new SharedState(config, {
    threads: config.serverThreads,
    memoryBytes: memoryLimit(config.memoryMegabytesMax),
  })
  const collector = new Collector(() => {
    collectGarbage()
    if (isThreaded(app.server)) app.server.threads?.collectGarbage()
  })
  const app = createApp({
    collector,
    slot,
    config,
    audit,
    tls,
    tracing,
    metricsExport,
    logExport,
    shared,
    ...(licensing === undefined ? {} : { licensing }),
  })
  // With the default backlog of 511, the system resets connections that arrive while a busy server accepts one per turn of its
  // event loop.
  const address = await app.listen({ host: config.host, port: config.port, backlog: connectionsMax })
  const exports = [metricsExport, tracing, logExport].filter((each) => each !== undefined)
  return new RunningServer({ config, events, slot, shared, collector, audit, licensing, exports, app, address })
}

/** Refuses a start that would end for want of memory. */
function checkMemory(megabytesMax: number | undefined): void {
  const limit = memoryLimit(megabytesMax)
  if (limit >= memoryLimitMin) return
  const [has, needs] = [limit, memoryLimitMin].map((bytes) => Math.floor(bytes / 2 ** 20))
  throw new ConfigError([
    `this process may use only ${has} MiB of memory, and a server needs at least ${needs} MiB: raise the limit of its control group or NDD_MEMORY_MAX_MB`,
  ])
}

function noteCertificate(slot: EngineSlot, tls: TlsOptions | undefined): void {
  slot.certificateEndMs = tls && certificateEnd(tls.cert)
}

/** The type of the server that the framework declares does not include it. */
function isThreaded(server: unknown): server is ThreadedServer {
  return server instanceof ThreadedServer
}

interface ServerParts {
  readonly config: Config
  readonly events: ServerEvents
  readonly slot: EngineSlot
  readonly shared: SharedState
  readonly collector: Collector
  readonly audit: Audit
  readonly licensing: Licensing | undefined
  /** What sends to a collector. */
  readonly exports: readonly (Tracing | MetricsExport | LogExport)[]
  readonly app: FastifyInstance
  readonly address: string
}

/** A server that listens. It serves requests as soon as its engine is open. */
export class RunningServer {
  /** `http://127.0.0.1:8080` */
  readonly address: string
  /** Resolves when the engine is open. Rejects if it cannot be opened, or if the server is stopped first. */
  readonly ready: Promise<Engine>
  readonly #parts: ServerParts
  readonly #queries: QueryLog
  readonly #noting: NodeJS.Timeout
  /** The engine, from the moment it owns the data directory. */
  #engine: Engine | undefined
  #auditOpened: Promise<void> | undefined
  #licenseRead: Promise<void> | undefined
  #schedule: BackupSchedule | undefined
  #isScheduled = false
  #archive: BucketArchive | undefined
  #follower: Follower | undefined
  #stopped: Promise<void> | undefined

  constructor(parts: ServerParts) {
    const { config, address } = parts
    this.#parts = parts
    this.address = address
    this.#queries = new QueryLog(path.join(config.dataDir, 'queries'), config.queryLogPercent, (error) =>
      this.#warn(`searches are no longer recorded: ${error.message}`),
    )
    parts.shared.onReport(({ searches }) => {
      for (const line of searches) this.#queries.add(line)
    })
    this.ready = this.#open()
    this.#noting = setInterval(() => void this.#noteTime(), noteTimeEveryMs).unref()
  }

  /** Loads certificate and key again. Open connections keep theirs. Rejects without a change if they cannot be loaded. */
  async reloadTls(): Promise<void> {
    const { app, config } = this.#parts
    const renewed = await readTls(config)
    const server: unknown = app.server
    if (renewed === undefined) return
    noteCertificate(this.#parts.slot, renewed)
    if (server instanceof HttpsServer || isThreaded(server)) server.setSecureContext(renewed)
  }

  /** Every thread that reads requests collects its garbage and makes its heap small. */
  collectGarbage(): void {
    this.#parts.collector.run()
  }

  /** Stops accepting requests, finishes the running ones, and closes the engine. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#close()
    return this.#stopped
  }

  async #open(): Promise<Engine> {
    const { slot } = this.#parts
    let engine: Engine
    try {
      engine = await this.#openEngine()
    } catch (error) {
      await this.#licenseRead
      slot.empty()
      throw error
    }
    await this.#auditOpened
    await this.#licenseRead
    slot.fill(engine)
    if (this.#follower?.status().role !== 'follower') await this.#startSchedule(engine)
    const fault = this.#parts.licensing?.fault()
    if (fault !== undefined) this.#warn(fault)
    return engine
  }

  async #openEngine(): Promise<Engine> {
    const { cluster } = this.#parts.config
    if (cluster !== undefined) return this.#openNode(cluster)
    this.#follower = await this.#openFollower()
    if (this.#follower?.status().role !== 'follower') await this.#createArchive()
    return this.#follower?.openEngine(this.#engineOptions()) ?? openEngine(this.#engineOptions())
  }

  async #openNode(cluster: ClusterConfig): Promise<Engine> {
    const { slot } = this.#parts
    // Loaded only in a cluster, because the library of NATS takes memory.
    const { openClusterNode } = await import('./cluster/cluster-node.ts')
    const config = { ...cluster, url: cluster.url || this.address }
    const { engine, faults } = await openClusterNode(config, this.#engineOptions(), {
      onView: (view) => {
        slot.cluster = view
      },
      onRole: (change) => this.#noteRole(cluster.node, change),
      version,
      onNotice: (sentence) => this.#warn(sentence),
    })
    slot.watch(faults)
    return engine
  }

  #noteRole(node: string, { from, to, epoch, reason }: RoleChange): void {
    // Health shows the role at once.
    this.#parts.shared.health.expire()
    this.#warn(`node ${node} is ${to} (it was ${from}), epoch ${epoch}: ${reason}`)
    const object = `${to}, epoch ${epoch}: ${reason}`
    // Nobody requested it.
    this.#parts.audit.record({ action: 'node.role', object, status: 200, request_id: '', ip: '' })
  }

  /** Undefined if this server follows nothing, or has taken over before. */
  async #openFollower(): Promise<Follower | undefined> {
    const { config, slot } = this.#parts
    if (config.followBucket === undefined) return undefined
    // Loaded only if it follows, because the S3 library takes memory.
    const { Follower } = await import('./archive/follower.ts')
    const follower = await Follower.open({
      place: config.followBucket,
      dataDir: config.dataDir,
      lagMsMax: config.archiveLagSeconds * 1_000,
      onNotice: (sentence) => this.#warn(sentence),
      onWriter: async (engine) => {
        if (this.#stopped !== undefined) return
        await this.#createArchive()
        this.#archive?.start(engine)
        await this.#startSchedule(engine)
      },
    })
    if (follower !== undefined) slot.watch(() => follower.reasons())
    slot.follower = follower
    return follower
  }

  /** Created before the engine, which asks it what it may remove. */
  async #createArchive(): Promise<void> {
    const { config, slot } = this.#parts
    if (config.archiveBucket === undefined) return
    // Loaded only if a bucket is configured, because the S3 library takes memory.
    const { BucketArchive } = await import('./archive/bucket-archive.ts')
    const archive = new BucketArchive({
      place: config.archiveBucket,
      dataDir: config.dataDir,
      keep: config.archiveBasesMax,
      lagMsMax: config.archiveLagSeconds * 1_000,
      backlogBytesMax: config.archiveBacklogGigabytes * 1_000_000_000,
      isRequired: config.archiveRequired,
      onNotice: (sentence) => this.#warn(sentence),
    })
    slot.watch(() => archive.reasons())
    slot.archive = archive
    this.#archive = archive
  }

  /** Serves the collections that are ready while others are still replayed. */
  #serveEarly(engine: Engine): void {
    const { slot, audit, licensing } = this.#parts
    this.#engine = engine
    this.#archive?.start(engine)
    // Not earlier, because only now the engine owns the directory: another process may have had it open.
    this.#auditOpened = audit.open()
    // Requests wait for the license, so that none is rejected while it is read.
    this.#licenseRead = (licensing?.open(engine.id) ?? Promise.resolve()).then(() => slot.fillEarly(engine))
  }

  async #startSchedule(engine: Engine): Promise<void> {
    const { config, slot } = this.#parts
    if (this.#isScheduled) return
    this.#isScheduled = true
    const { cluster } = slot
    this.#schedule = new BackupSchedule(engine, {
      everything: defaultSchedule(config),
      schedules: schedulesIn(slot),
      carrier: await createCarrier(config),
      dataDir: config.dataDir,
      ...(cluster && {
        node: { leads: () => cluster.status().role === 'leader', refresh: () => cluster.refreshBackups() },
      }),
      onNotice: (sentence) => this.#warn(sentence),
    })
    slot.watch(() => this.#schedule?.faults ?? [])
  }

  async #close(): Promise<void> {
    const { app, exports, audit, collector, slot } = this.#parts
    collector.stop()
    await closeConnections(app)
    slot.providers?.close()
    await Promise.all(exports.map((each) => each.close()))
    // Another node leads from here on. A start that waits for NATS ends.
    await slot.cluster?.close()
    // Closing the engine stops a running replay. If the engine could not be opened, there is nothing to close, and `ready` rejects with
    // the reason.
    const engine = this.#engine ?? (await this.ready.catch(() => undefined))
    await this.#schedule?.stop()
    clearInterval(this.#noting)
    await this.#noteTime()
    await this.#auditOpened
    await audit.close()
    await this.#queries.close()
    await this.#follower?.stop()
    await this.#archive?.stop()
    await engine?.close()
  }

  /** Failures are ignored: while the log accepts no writes, the time is noted later. */
  async #noteTime(): Promise<void> {
    const { slot, licensing } = this.#parts
    if (slot.isOpen()) await licensing?.noteTime().catch(() => undefined)
  }

  #warn(sentence: string): void {
    this.#parts.app.log.warn(sentence)
  }

  #engineOptions(): EngineOptions {
    const { config, slot, events, collector } = this.#parts
    const { topKMax, batchMax, collectionsMax, backupMsMax } = config
    return {
      dataDir: config.dataDir,
      fsync: config.fsync,
      ...(config.threads === undefined ? {} : { threads: config.threads }),
      // One more for each thread, for one that replaces it before the engine knows that it has ended.
      readers: config.serverThreads > 1 ? Math.min(64, 2 * config.serverThreads) : 0,
      limits: { topKMax, batchMax, collectionsMax, backupMsMax },
      embed: slot.providers?.embed(),
      archive: config.archive,
      keepLog: config.keepLog,
      asOf: {
        loadedBytesMax: config.asOfLoadedMegabytes * 1024 * 1024,
        windowSeconds: config.asOfSeconds,
        windowBytesMax: config.asOfMemoryMegabytes * 1024 * 1024,
      },
      memory: {
        bytesMax: config.memoryMegabytesMax && config.memoryMegabytesMax * 1024 * 1024,
        onScarce: () => collector.run(),
      },
      requestKeys: { max: config.requestKeysMax, maxAgeMs: config.requestKeyHours * 3_600_000 },
      // A server that follows may get an archive of its own later.
      ...(config.archiveBucket && { retainAfter: () => this.#archive?.lsnNeeded ?? Number.POSITIVE_INFINITY }),
      onProgress: (progress) => {
        slot.report(progress)
        events.onProgress?.(progress)
      },
      onServing: (engine) => this.#serveEarly(engine),
      onNotice: (sentence) => this.#warn(sentence),
      ...(events.onFailed === undefined ? {} : { onFailed: events.onFailed }),
      ...(config.queryLogPercent > 0 && { onSearch: (search: ReceivedSearch) => this.#queries.note(search) }),
    }
  }
}

/** Finishes the running requests, for at most shutdownGraceMs. */
async function closeConnections(app: FastifyInstance): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), shutdownGraceMs)
  // A connection whose last reply is being sent becomes idle only after closing began.
  const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs)
  await app.close()
  clearInterval(sweep)
  clearTimeout(cut)
}

function defaultSchedule({ backupEveryHours: hours, backupKeep: keep, backupCheck: check }: Config) {
  return hours === undefined ? undefined : { everyMs: hours * 3_600_000, keep, check }
}

async function createCarrier({ backupBucket, backupBucketKeep: keep, backupCheck: check }: Config) {
  if (backupBucket === undefined) return undefined
  // Loaded only if a bucket is configured, because the S3 library takes memory.
  const { Bucket } = await import('./backups/bucket.ts')
  return new Carrier({ bucket: new Bucket(backupBucket), keep, check })
}
