// The life of an engine: it opens its directory and recovers its state, removes history that is too old, and closes in the reverse order.
import { type Lsn, runEach } from '@annal/wal'
import { archivedLogDir } from '../backup/archive.ts'
import { lsnReachedBy } from '../snapshot/manifest.ts'
import { createWorkerPool } from '../vector/open-pool.ts'
import { checkpointSource } from './checkpoints.ts'
import { createExpiryJob } from './collections.ts'
import type { EngineHost } from './host.ts'
import { createHub } from './readers.ts'
import { type LoadedReplicas, recover } from './recover.ts'

const memoryEveryMs = 1_000
const trimEveryMs = 10 * 60_000

export class EngineLife {
  readonly #engine: EngineHost
  readonly #onServing: () => void
  #opening: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #trimTimer: NodeJS.Timeout | undefined
  #memoryTimer: NodeJS.Timeout | undefined

  /** `onServing` is called when first collections are in service, before the log is replayed. */
  constructor(engine: EngineHost, onServing: () => void) {
    this.#engine = engine
    this.#onServing = onServing
  }

  open(): Promise<void> {
    this.#opening = this.#open()
    return this.#opening
  }

  close(): Promise<void> {
    this.#engine.base.isClosing = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #open(): Promise<void> {
    const { base, checkpointer, collections } = this.#engine
    const { options, opener, parts } = base
    try {
      let loaded: LoadedReplicas = new Map()
      const directory = await opener.open({
        dir: base.dataDir,
        vfs: base.vfs,
        fsync: options.fsync ?? 'always',
        ...(options.archive?.maxAgeMs && { archiveDir: archivedLogDir(base.dataDir) }),
        findStart: async (known) => {
          base.identity = known
          loaded = await this.#loadCheckpoint()
          return (checkpointer.lsnLoaded + 1) as Lsn
        },
        lsnReached: () => (checkpointer.manifest ? lsnReachedBy(checkpointer.manifest) : 0),
        checkpointPosition: () => checkpointer.manifest?.logPlace,
        makeRoom: (bytes) => this.#makeRoom(bytes),
        onNotice: (notice) => base.note(notice),
        onFailed: (error) => this.#engine.fail(error),
      })
      base.directory = directory
      base.identity = directory.identity
      await recover(this.#engine, directory, loaded, this.#onServing)
      await collections.loadCalibrations()
      // The callbacks above live as long as the directory and share this scope: without this, deleted collections stay in memory.
      loaded.clear()
      base.phase = 'open'
      base.progress.report(undefined)
      if (parts.readOnly) return
      this.#memoryTimer = setInterval(() => this.#engine.memory.watch(), memoryEveryMs).unref()
      checkpointer.start(directory.log, () => checkpointSource(this.#engine))
      this.#engine.expiry = createExpiryJob(this.#engine)
      await this.#trim()
      // History also expires when nothing is written.
      if (options.archive?.maxAgeMs) this.#trimTimer = setInterval(() => this.#trim(), trimEveryMs).unref()
    } catch (error) {
      await this.#release().catch(() => undefined)
      throw error
    }
  }

  /** Starts the worker threads, which build collections from the newest checkpoint. */
  async #loadCheckpoint(): Promise<LoadedReplicas> {
    const { base, backups, checkpointer, keys } = this.#engine
    const { threads, readers, parts } = base
    const pool = parts.pool ?? (await createWorkerPool({ threads, readers }))
    base.pool = pool
    base.hub = createHub(this.#engine, pool)
    const loaded = await checkpointer.load(pool, keys.table)
    base.notices.push(...(await backups.open()))
    return loaded
  }

  /**
   * Called when the disk is nearly full: removes history first, then the files of deleted collections in checkpoints.
   */
  async #makeRoom(bytes: number): Promise<boolean> {
    const { base, backups, catalog, checkpointer } = this.#engine
    if (base.phase !== 'open' || base.parts.readOnly) return false
    try {
      if (await backups.giveWay(bytes)) return true
      if (catalog.lsn > base.lsnDurable) return false
      return await checkpointer.removeDropped((id) => catalog.byId(id) !== undefined)
    } catch (error) {
      base.notify(`no disk space could be freed: ${(error as Error).message}`)
      return false
    }
  }

  async #trim(): Promise<void> {
    const { base, backups } = this.#engine
    const report = (error?: Error) =>
      base.warnWhileFailing('trim', error && `cannot remove obsolete files: ${error.message}`)
    await backups.trim().then(() => report(), report)
  }

  async #close(): Promise<void> {
    const { base, backups, catalogWrites, checkpointer, collections, cursors, digests, feed, memory } = this.#engine
    feed.close()
    memory.close()
    // A running start and running rebuilds stop when they see that they are no longer wanted.
    if (base.phase === 'recovering') collections.shut()
    await this.#opening?.catch(() => undefined)
    const finish = async () => {
      await cursors.close()
      await this.#engine.expiry?.close()
      collections.shut()
      await digests?.settled()
      await catalogWrites.hold(() => collections.allApplied())
      await checkpointer.end()
    }
    await runEach(
      () => backups.jobs.close(),
      () => this.#engine.pastStates.close(),
      () => this.#engine.recent.close(),
      () => base.phase === 'open' && !base.failure && finish(),
      () => {
        base.phase = 'closed'
        base.hub?.close()
        clearInterval(this.#trimTimer)
        clearInterval(this.#memoryTimer)
      },
      () => this.#engine.expiry?.close(),
      () => backups.trimmed(),
      () => this.#release(),
    )
  }

  /** Releases what open acquired, in reverse order, also when the log cannot be closed. */
  #release(): Promise<void> {
    const { base, catalogWrites, collections } = this.#engine
    return runEach(
      () => base.directory?.close(),
      () => base.hub?.close(),
      () => collections.close(),
      () => catalogWrites.settled(),
      () => !base.parts.pool && base.pool?.close(),
    )
  }
}
