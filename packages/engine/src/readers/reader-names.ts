// The names of collections in a reader's thread, aliases included, as the owner announced them.
import type { ChangedNames } from '../catalog/changed-names.ts'

export class ReaderNames {
  /** Ids of collections by database and name. */
  readonly #byDatabase = new Map<string, Map<string, number>>()

  /** The collection that a name leads to, 0 if there is none. */
  collectionId(database: string, name: string): number {
    return this.#byDatabase.get(database)?.get(name) ?? 0
  }

  change({ database, names }: ChangedNames): void {
    if (names === undefined) {
      this.#byDatabase.delete(database)
      return
    }
    const known = this.#byDatabase.get(database) ?? new Map<string, number>()
    for (const [name, id] of names) {
      if (id === 0) known.delete(name)
      else known.set(name, id)
    }
    if (known.size > 0) this.#byDatabase.set(database, known)
    else this.#byDatabase.delete(database)
  }
}
