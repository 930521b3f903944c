// Backs every collection up from time to time, keeps the newest few of each, proves that each can be restored, and reads all
// backups again in every round.
import type { Database, Engine } from '@annal/engine'

export interface BackupScheduleOptions {
  readonly everyMs: number
  /** Scheduled backups kept of each collection; others are never touched. */
  readonly keep: number
  /** Builds each backup aside and compares its digest. */
  readonly check: boolean
  readonly onNotice: (sentence: string) => void
}

const prefix = 'auto-'
/** A database that is busy with a backup of somebody's own is asked again. */
const attempts = 5
const nameLengthMax = 200

export class BackupSchedule {
  readonly #engine: Engine
  readonly #options: BackupScheduleOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #faults: string[] = []
  #stopped = false

  constructor(engine: Engine, options: BackupScheduleOptions) {
    this.#engine = engine
    this.#options = options
    this.#timer = setInterval(() => void this.run(), options.everyMs).unref()
  }

  /** What went wrong in the last round, if anything did. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** One round, or the one under way. Never rejects: what fails is told, and tried again in the next. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#running
  }

  async #round(): Promise<void> {
    const faults: string[] = []
    for (const { name } of this.#engine.control.databases()) {
      const database = this.#engine.database(name)
      for (const { name: collection, condition } of database.collections()) {
        if (this.#stopped) return
        if (condition !== 'ready') continue
        try {
          await this.#backUp(database, collection)
        } catch (error) {
          faults.push(`the scheduled backup of "${name}/${collection}" failed: ${(error as Error).message}`)
        }
      }
      faults.push(...(await this.#scrub(database)))
    }
    this.#faults = faults
    for (const fault of faults) this.#options.onNotice(fault)
  }

  /** Reads every backup there is, also those somebody made: a disk forgets in silence. */
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

  async #backUp(database: Database, collection: string): Promise<void> {
    const { backups } = database
    const own = () => backups.list().filter((info) => info.collection === collection && info.name.startsWith(prefix))
    // One that nobody wrote to since needs no other.
    if (own().at(-1)?.lsn === database.collection(collection).describe().lsn) return
    const { name } = await this.#begin(database, collection)
    await backups.settled()
    const { error } = backups.status()
    if (error !== undefined) throw new Error(error)
    const faults = this.#options.check ? await backups.verify(name, { deep: true }) : []
    if (faults.length > 0) {
      await backups.remove(name)
      throw new Error(faults.join('; '))
    }
    for (const { name: old } of own().slice(0, -this.#options.keep)) await backups.remove(old)
  }

  async #begin(database: Database, collection: string): Promise<{ readonly name: string }> {
    const at = new Date().toISOString().replaceAll(/[-:.Z]/g, '')
    const name = `${prefix}${collection}-${at}`.slice(0, nameLengthMax)
    for (let attempt = 1; ; attempt++) {
      try {
        return await database.backups.create(collection, name)
      } catch (error) {
        if (attempt === attempts || (error as { code?: unknown }).code !== 'backup_running') throw error
        await database.backups.settled()
      }
    }
  }
}
