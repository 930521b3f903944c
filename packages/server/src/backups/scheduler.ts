// Runs scheduled backups: of every collection, as the server's settings define, and of single collections, as their own schedules
// define. Copies them to the bucket if there is one. Each round of the server-wide schedule also verifies every backup and the
// archive.
import { type Database, type Engine, verifyArchive } from '@annal/engine'
import type { Carrier } from './carrier.ts'
import { backUpWhatChanged, type Keeping, scheduledBackups } from './scheduled-backup.ts'
import type { Schedule, Schedules } from './schedules.ts'

/** The schedules, and where failures are reported. */
export interface BackupScheduleOptions {
  /** The schedule of collections without their own schedule. */
  readonly everything?: (Keeping & { readonly everyMs: number }) | undefined
  readonly schedules: Schedules
  readonly carrier?: Carrier | undefined
  /** Each round verifies the archive of this data directory. */
  readonly dataDir?: string
  /** Undefined if the server serves alone. */
  readonly node?: ScheduledNode | undefined
  readonly onNotice: (sentence: string) => void
  /** A monotonic time in milliseconds. */
  readonly elapsedMs?: () => number
}

/** A node of a cluster. Of these, the one that leads makes the backups, and every one knows when the newest was made. */
export interface ScheduledNode {
  leads(): boolean
  /** Reads which backups the cluster has. Rejects if the store cannot be used. */
  refresh(): Promise<void>
}

const hourMs = 3_600_000
/** Interval at which schedules are checked for backups that are due. */
const checkEveryMs = 60_000
/** Delay before a failed backup is retried. */
const retryMs = 15 * 60_000

/** Runs the schedules of one engine until it is stopped. */
export class BackupSchedule {
  readonly #engine: Engine
  readonly #options: BackupScheduleOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #checking: Promise<void> | undefined
  #faults: string[] = []
  readonly #ownFaults = new Map<string, { readonly fault: string; readonly triedAt: number }>()
  /** By database: the backups that could not be copied to the bucket. */
  readonly #notCarried = new Map<string, { readonly faults: readonly string[]; readonly triedAt: number }>()
  readonly #elapsedMs: () => number
  readonly #beganMs: number
  /** When the last round of this process began, by the monotonic clock. */
  #roundMs: number | undefined
  /** When this process last ran a schedule, by the monotonic clock. */
  readonly #ranMs = new Map<string, number>()
  /** Whether this node led when it last looked. */
  #led = false
  #stopped = false

  constructor(engine: Engine, options: BackupScheduleOptions) {
    this.#engine = engine
    this.#options = options
    const { elapsedMs = () => performance.now() } = options
    this.#elapsedMs = elapsedMs
    this.#beganMs = elapsedMs()
    // Not one timer for the interval: a timer of more than 24 days fires at once.
    this.#timer = setInterval(() => {
      void this.runDue()
      void this.runIfDue()
    }, checkEveryMs).unref()
  }

  /** Failures of the last round, of collections' own schedules, and of copies to the bucket. */
  get faults(): readonly string[] {
    if (this.#options.node && !this.#led) return []
    const own = [...this.#ownFaults.values()].map(({ fault }) => fault)
    return [...this.#faults, ...own, ...[...this.#notCarried.values()].flatMap(({ faults }) => faults)]
  }

  /** Runs one round, or returns the running one. Never rejects: failures are reported and retried in the next round. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /**
   * Runs a round if the interval has passed, and in the first minutes of a server if a collection was due before its start: a server may be
   * restarted more often. Another node may have led at the last round, so a node decides by the age of the newest backup instead. Never rejects.
   */
  async runIfDue(now = Date.now()): Promise<void> {
    const { everything, node } = this.#options
    if (everything === undefined || node !== undefined || this.#stopped) return
    const passedMs = this.#elapsedMs() - (this.#roundMs ?? this.#beganMs)
    if (passedMs >= everything.everyMs || (this.#roundMs === undefined && this.#hasOverdue(everything.everyMs, now)))
      await this.run()
  }

  /** Whether a collection of the server-wide schedule has changed since its newest backup, and that is old. */
  #hasOverdue(everyMs: number, now: number): boolean {
    return this.#engine.control.databases().some(({ name }) => {
      const database = this.#engine.database(name)
      const own = new Set(this.#options.schedules.of(database).map(({ collection }) => collection))
      return database.collections().some(({ name: collection, condition }) => {
        if (condition !== 'ready' || own.has(collection)) return false
        const newest = scheduledBackups(database, collection).at(-1)
        const isOld = newest === undefined || newest.takenAt + everyMs <= now
        return isOld && newest?.lsn !== database.collection(collection).describe().lsn
      })
    })
  }

  /** Creates the backups that are due by collections' own schedules, or returns the running round. Never rejects. */
  runDue(now = Date.now()): Promise<void> {
    this.#checking ??= this.#due(now).finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#options.carrier?.close()
    await this.#running
    await this.#checking
  }

  async #round(): Promise<void> {
    const { everything } = this.#options
    if (everything === undefined) return
    this.#roundMs = this.#elapsedMs()
    const faults: string[] = []
    for (const { name } of this.#engine.control.databases()) {
      const database = this.#engine.database(name)
      const own = new Set(this.#options.schedules.of(database).map(({ collection }) => collection))
      for (const { name: collection, condition } of database.collections()) {
        if (this.#stopped) return
        if (condition !== 'ready' || own.has(collection)) continue
        const fault = await faultOf(database, collection, everything)
        if (fault !== undefined) faults.push(fault)
      }
      await this.#carry(database, Date.now())
      faults.push(...(await this.#scrub(database)))
    }
    faults.push(...(await this.#scrubArchive()))
    this.#faults = faults
    for (const fault of faults) this.#options.onNotice(fault)
  }

  async #due(now: number): Promise<void> {
    if (this.#options.node && !(await this.#isTurn(this.#options.node, now))) return
    const own = this.#options.schedules.all()
    const schedules = this.#options.node ? [...own, ...this.#common(own)] : own
    const kept = new Set(schedules.map(keyOf))
    for (const key of this.#ownFaults.keys()) if (!kept.has(key)) this.#ownFaults.delete(key)
    for (const key of this.#ranMs.keys()) if (!kept.has(key)) this.#ranMs.delete(key)
    for (const schedule of schedules) {
      if (this.#stopped) return
      const database = this.#engine.database(schedule.database)
      const found = database.collections().find(({ name }) => name === schedule.collection)
      const triedAt = this.#ownFaults.get(keyOf(schedule))?.triedAt ?? Number.NEGATIVE_INFINITY
      if (found?.condition !== 'ready' || !this.#isDue(database, schedule, now) || wasTried(triedAt, now)) continue
      const fault = await faultOf(database, schedule.collection, schedule)
      if (fault === undefined) {
        this.#ranMs.set(keyOf(schedule), this.#elapsedMs())
        this.#ownFaults.delete(keyOf(schedule))
        await this.#carry(database, now)
      } else {
        this.#ownFaults.set(keyOf(schedule), { fault, triedAt: now })
        this.#options.onNotice(fault)
      }
    }
    for (const [name, { triedAt }] of this.#notCarried) {
      const isThere = this.#engine.control.databases().some((database) => database.name === name)
      if (!isThere) this.#notCarried.delete(name)
      else if (!this.#stopped && !wasTried(triedAt, now)) await this.#carry(this.#engine.database(name), now)
    }
  }

  /** A backup that is later than the clock was made while one of them was wrong; then the interval is that of the monotonic clock. */
  #isDue(database: Database, schedule: Schedule, now: number): boolean {
    const newest = scheduledBackups(database, schedule.collection).at(-1)
    if (newest === undefined || newest.takenAt <= now) return nextRun(database, schedule, now) <= now
    const sinceMs = this.#ranMs.get(keyOf(schedule)) ?? this.#beganMs
    return this.#elapsedMs() - sinceMs >= schedule.everyHours * hourMs
  }

  /** Whether this node leads. One that has begun to lead copies what the one before it may not have copied. */
  async #isTurn(node: ScheduledNode, now: number): Promise<boolean> {
    const isNew = !this.#led
    this.#led = false
    if (!node.leads()) return false
    try {
      await node.refresh()
    } catch {
      // The next check tries it again.
      return false
    }
    this.#led = true
    if (!isNew) return true
    for (const { name } of this.#engine.control.databases())
      if (!this.#stopped) await this.#carry(this.#engine.database(name), now)
    return true
  }

  /** The server-wide schedule as one of each collection without its own. */
  #common(own: readonly Schedule[]): Schedule[] {
    const { everything } = this.#options
    if (everything === undefined) return []
    const { everyMs, keep, check } = everything
    const taken = new Set(own.map(keyOf))
    const all = this.#engine.control.databases().flatMap(({ name: database }) =>
      this.#engine
        .database(database)
        .collections()
        .map(({ name: collection }) => ({ database, collection })),
    )
    return all
      .filter((each) => !taken.has(keyOf(each)))
      .map((each) => ({ ...each, everyHours: everyMs / hourMs, keep, check }))
  }

  async #carry(database: Database, now: number): Promise<void> {
    const faults = (await this.#options.carrier?.carry(database)) ?? []
    for (const fault of faults) this.#options.onNotice(fault)
    if (faults.length === 0) this.#notCarried.delete(database.name)
    else this.#notCarried.set(database.name, { faults, triedAt: now })
  }

  async #scrubArchive(): Promise<string[]> {
    const { dataDir } = this.#options
    if (dataDir === undefined || this.#stopped) return []
    try {
      const report = await verifyArchive({ dataDir })
      return (report?.faults ?? []).map((fault) => `the archive is damaged: ${fault}`)
    } catch (error) {
      return [`the archive cannot be read: ${(error as Error).message}`]
    }
  }

  /** Verifies every backup, also those created manually, because a disk can lose data silently. */
  async #scrub({ name: database, backups }: Database): Promise<string[]> {
    const faults: string[] = []
    for (const { name } of backups.list()) {
      if (this.#stopped) return faults
      try {
        const found = await backups.verify(name)
        if (found.length > 0) faults.push(`backup "${name}" of "${database}" is damaged: ${found.join('; ')}`)
      } catch (error) {
        // A backup that was deleted meanwhile is not a failure.
        if ((error as { code?: unknown }).code !== 'backup_not_found') faults.push((error as Error).message)
      }
    }
    return faults
  }
}

/** Time of a schedule's next backup in milliseconds since 1970, at the latest; 0 if it has no backup yet. */
export function nextRun(database: Database, { collection, everyHours }: Schedule, now = Date.now()): number {
  const newest = scheduledBackups(database, collection).at(-1)
  return newest === undefined ? 0 : Math.min(newest.takenAt, now) + everyHours * hourMs
}

/** Also false if the clock was set back since. */
function wasTried(triedAt: number, now: number): boolean {
  return triedAt <= now && now < triedAt + retryMs
}

async function faultOf(database: Database, collection: string, keeping: Keeping): Promise<string | undefined> {
  try {
    await backUpWhatChanged(database, collection, keeping)
    return undefined
  } catch (error) {
    return `the scheduled backup of "${database.name}/${collection}" failed: ${(error as Error).message}`
  }
}

function keyOf({ database, collection }: Pick<Schedule, 'database' | 'collection'>): string {
  return `${database}/${collection}`
}
