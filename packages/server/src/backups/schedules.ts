// Backup schedules that users set for their collections. They are settings of the data directory, so that they are events like
// everything else: in the log, in backups of the directory, there again after a restart.
import type { ControlPlane, Database, DatabaseDescription } from '@annal/engine'
import { ServerError } from '../http/errors.ts'

export interface Schedule {
  readonly database: string
  readonly collection: string
  readonly everyHours: number
  /** Scheduled backups kept. */
  readonly keep: number
  /** Verifies each backup with a test restore. */
  readonly check: boolean
}

/** A new database with the name of a deleted one has other schedules. */
type Stored = Schedule & { readonly databaseCreatedAt: number }

/** A setting holds 4 KiB, so several hold the list; each change writes one of them. */
const pages = 16
const pageBytesMax = 4_096

export class Schedules {
  readonly #control: () => ControlPlane
  /** What is read and then written again must not be written by another in between. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(control: () => ControlPlane) {
    this.#control = control
  }

  /** Of all databases that exist. */
  all(): readonly Schedule[] {
    const control = this.#control()
    const createdAt = new Map(control.databases().map((database) => [database.name, database.createdAt]))
    return this.#pages()
      .flat()
      .filter((stored) => createdAt.get(stored.database) === stored.databaseCreatedAt)
      .sort((a, b) => a.database.localeCompare(b.database) || a.collection.localeCompare(b.collection))
  }

  of({ name }: Pick<Database, 'name'>): readonly Schedule[] {
    return this.all().filter(({ database }) => database === name)
  }

  /** Instead of the one that the collection has, if it has one. Throws limit_exceeded. */
  put(database: DatabaseDescription, schedule: Omit<Schedule, 'database'>): Promise<void> {
    const stored: Stored = { database: database.name, databaseCreatedAt: database.createdAt, ...schedule }
    return this.#change(stored, (page) => [...page, stored])
  }

  /** Whether there was one. */
  async remove(database: DatabaseDescription, collection: string): Promise<boolean> {
    const had = this.of(database).some((schedule) => schedule.collection === collection)
    if (had) await this.#change({ database: database.name, collection }, (page) => page)
    return had
  }

  #change(key: Pick<Schedule, 'database' | 'collection'>, next: (page: readonly Stored[]) => readonly Stored[]) {
    const changed = this.#turn.then(async () => {
      const there = this.#pages().map((page) => page.filter((stored) => !isOf(stored, key)))
      const holder = this.#pages().findIndex((page) => page.some((stored) => isOf(stored, key)))
      const places = holder < 0 ? there.keys() : [holder, ...there.keys()]
      for (const page of places) {
        const text = JSON.stringify(next(there[page] ?? []))
        if (Buffer.byteLength(text) > pageBytesMax) continue
        await this.#control().putSetting(keyOf(page), text)
        // A longer one may have had to leave its place.
        if (holder >= 0 && holder !== page)
          await this.#control().putSetting(keyOf(holder), JSON.stringify(there[holder]))
        return
      }
      throw new ServerError('limit_exceeded', 'there are too many backup schedules; delete some', { field: 'name' })
    })
    this.#turn = changed.catch(() => undefined)
    return changed
  }

  #pages(): readonly (readonly Stored[])[] {
    const control = this.#control()
    return Array.from({ length: pages }, (_, page) => JSON.parse(control.setting(keyOf(page)) ?? '[]') as Stored[])
  }
}

function isOf(stored: Stored, { database, collection }: Pick<Schedule, 'database' | 'collection'>): boolean {
  return stored.database === database && stored.collection === collection
}

function keyOf(page: number): string {
  return `backup-schedules-${page}`
}
