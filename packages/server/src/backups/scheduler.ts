// Makes backups from time to time: of every collection as the server's settings say, and of single ones as their own schedules
// say, and has them carried off the machine where that is wanted. In every round of the server's all backups, and what is archived,
// are read again.
import { type Database, type Engine, verifyArchive } from '@annal/engine'
import type { Carrier } from './carrier.ts'
import { backUpWhatChanged, type Keeping, scheduledBackups } from './scheduled-backup.ts'
import type { Schedule, Schedules } from './schedules.ts'

export interface BackupScheduleOptions {
  /** Of collections without a schedule of their own. */
  readonly everything?: (Keeping & { readonly everyMs: number }) | undefined
  readonly schedules: Schedules
  readonly carrier?: Carrier | undefined
  /** Whose archive is read again in every round. */
  readonly dataDir?: string
  readonly onNotice: (sentence: string) => void
}

const hourMs = 3_600_000
/** How often schedules are looked through for what is due. */
const lookMs = 60_000
/** What failed is not tried again at every look. */
const againMs = 15 * 60_000

export class BackupSchedule {
  readonly #engine: Engine
  readonly #options: BackupScheduleOptions
  readonly #timers: readonly NodeJS.Timeout[]
  #running: Promise<void> | undefined
  #looking: Promise<void> | undefined
  #faults: string[] = []
  readonly #own = new Map<string, { readonly fault: string; readonly triedAt: number }>()
  /** By database, what could not be carried away. */
  readonly #notCarried = new Map<string, { readonly faults: readonly string[]; readonly triedAt: number }>()
  #stopped = false

  constructor(engine: Engine, options: BackupScheduleOptions) {
    this.#engine = engine
    this.#options = options
    const { everything } = options
    const looks = setInterval(() => void this.runDue(), lookMs).unref()
    this.#timers = everything ? [looks, setInterval(() => void this.run(), everything.everyMs).unref()] : [looks]
  }

  /** What went wrong in the last round, and with each collection's own schedule, if anything did. */
  get faults(): readonly string[] {
    const own = [...this.#own.values()].map(({ fault }) => fault)
    return [...this.#faults, ...own, ...[...this.#notCarried.values()].flatMap(({ faults }) => faults)]
  }

  /** Runs one round, or returns the running one. Never rejects: failures are reported and retried in the next round. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Creates the backups that are due by collections' own schedules, or returns the running round. Never rejects. */
  runDue(now = Date.now()): Promise<void> {
    this.#looking ??= this.#due(now).finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#options.carrier?.close()
    await this.#running
    await this.#looking
  }

  async #round(): Promise<void> {
    const { everything } = this.#options
    if (everything === undefined) return
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
    const schedules = this.#options.schedules.all()
    const kept = new Set(schedules.map(keyOf))
    for (const key of this.#own.keys()) if (!kept.has(key)) this.#own.delete(key)
    for (const schedule of schedules) {
      if (this.#stopped) return
      const database = this.#engine.database(schedule.database)
      const found = database.collections().find(({ name }) => name === schedule.collection)
      const triedAt = this.#own.get(keyOf(schedule))?.triedAt ?? Number.NEGATIVE_INFINITY
      if (found?.condition !== 'ready' || nextRun(database, schedule) > now || triedAt + againMs > now) continue
      const fault = await faultOf(database, schedule.collection, schedule)
      if (fault === undefined) {
        this.#own.delete(keyOf(schedule))
        await this.#carry(database, now)
      } else {
        this.#own.set(keyOf(schedule), { fault, triedAt: now })
        this.#options.onNotice(fault)
      }
    }
    for (const [name, { triedAt }] of this.#notCarried) {
      const isThere = this.#engine.control.databases().some((database) => database.name === name)
      if (!isThere) this.#notCarried.delete(name)
      else if (!this.#stopped && triedAt + againMs <= now) await this.#carry(this.#engine.database(name), now)
    }
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
        // One that is deleted meanwhile needs no look.
        if ((error as { code?: unknown }).code !== 'backup_not_found') faults.push((error as Error).message)
      }
    }
    return faults
  }
}

/** When a schedule's next backup is due, milliseconds since 1970; 0 when it has none yet. */
export function nextRun(database: Database, { collection, everyHours }: Schedule): number {
  const newest = scheduledBackups(database, collection).at(-1)
  return newest === undefined ? 0 : newest.takenAt + everyHours * hourMs
}

async function faultOf(database: Database, collection: string, keeping: Keeping): Promise<string | undefined> {
  try {
    await backUpWhatChanged(database, collection, keeping)
    return undefined
  } catch (error) {
    return `the scheduled backup of "${database.name}/${collection}" failed: ${(error as Error).message}`
  }
}

function keyOf({ database, collection }: Schedule): string {
  return `${database}/${collection}`
}
