// Backup schedules that users set for their collections. They are settings of the data directory, so they are events in the log
// like all other state: they survive a restart and are part of a backup of the directory.
import type { Acknowledgement, ControlPlane, Database, DatabaseDescription, WriteOptions } from '@annal/engine'
import { ServerError } from '../errors.ts'

/** The backup schedule of one collection. */
export interface Schedule {
  readonly database: string
  readonly collection: string
  readonly everyHours: number
  /** Number of scheduled backups kept. */
  readonly keep: number
  /** Verifies each backup with a test restore. */
  readonly check: boolean
}

/** Includes when the database was created: a new database does not inherit the schedules of a deleted one with the same name. */
type Stored = Schedule & { readonly databaseCreatedAt: number }

/** The list is divided into pages, because a setting holds at most 4 KiB. Most changes write one page. */
const pages = 16
const pageBytesMax = 4_096

/** Reads and changes the schedules in the settings of an engine. */
export class Schedules {
  readonly #control: () => ControlPlane
  /** Serializes changes, because each reads the pages and then writes one. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(control: () => ControlPlane) {
    this.#control = control
  }

  /** The schedules of all existing databases. */
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

  /** Sets or replaces the schedule of a collection. Throws limit_exceeded. */
  put(
    database: DatabaseDescription,
    schedule: Omit<Schedule, 'database'>,
    options?: WriteOptions,
  ): Promise<Acknowledgement> {
    const stored: Stored = { database: database.name, databaseCreatedAt: database.createdAt, ...schedule }
    return this.#change(stored, (page) => [...page, stored], options)
  }

  /** Undefined if the collection had no schedule. */
  async remove(
    database: DatabaseDescription,
    collection: string,
    options?: WriteOptions,
  ): Promise<Acknowledgement | undefined> {
    const had = this.of(database).some((schedule) => schedule.collection === collection)
    return had ? this.#change({ database: database.name, collection }, (page) => page, options) : undefined
  }

  /** If there are two records, the last one has the request key. */
  #change(
    key: Pick<Schedule, 'database' | 'collection'>,
    next: (page: readonly Stored[]) => readonly Stored[],
    options?: WriteOptions,
  ) {
    const changed = this.#turn.then(async () => {
      const there = this.#pages().map((page) => page.filter((stored) => !isOf(stored, key)))
      const holder = this.#pages().findIndex((page) => page.some((stored) => isOf(stored, key)))
      const places = holder < 0 ? there.keys() : [holder, ...there.keys()]
      for (const page of places) {
        const text = JSON.stringify(next(there[page] ?? []))
        if (Buffer.byteLength(text) > pageBytesMax) continue
        const control = this.#control()
        if (holder < 0 || holder === page) return control.putSetting(keyOf(page), text, options)
        // The new schedule did not fit on its previous page, so it is removed from there.
        await control.putSetting(keyOf(page), text)
        return control.putSetting(keyOf(holder), JSON.stringify(there[holder]), options)
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
