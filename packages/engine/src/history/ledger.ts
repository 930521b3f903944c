// Maps every collection, including deleted ones, to its database. It decides who may see a record.

import type { RecordFacts } from '../events/record-facts.ts'
import type { CollectionPromoted } from '../model/event.ts'
import { nameInKey } from '../model/ids.ts'

export interface Owned {
  readonly id: number
  readonly databaseId: number
  readonly name: string
  readonly lsnCreated: number
  /** LSN of its deletion, when known. */
  readonly lsnDropped?: number
}

/** Which collection a name leads to from a record on, 0 for none. */
interface Naming {
  readonly lsn: number
  readonly id: number
  readonly isAlias: boolean
}

export class Ledger {
  readonly #collections = new Map<number, Owned>()
  /** In the order of their records, by database and name. Names of collections and aliases. */
  readonly #names = new Map<string, Naming[]>()

  add(collection: Owned): void {
    if (!this.#collections.has(collection.id)) this.#collections.set(collection.id, collection)
  }

  /** The name leads to the collection from this record on. */
  name(databaseId: number, name: string, naming: Naming): void {
    const key = `${databaseId}/${name}`
    const namings = this.#names.get(key) ?? []
    const others = namings.filter(({ lsn }) => lsn !== naming.lsn)
    this.#names.set(
      key,
      [...others, naming].sort((a, b) => a.lsn - b.lsn),
    )
  }

  /** The collection that a name or an alias led to just after a record. */
  collectionAt(databaseId: number, name: string, lsn: number): number | undefined {
    const id = this.#names.get(`${databaseId}/${nameInKey(name)}`)?.findLast((naming) => naming.lsn <= lsn)?.id
    return id === 0 ? undefined : id
  }

  note({ lsn, catalog }: RecordFacts): void {
    if (catalog?.kind === 'collection-created' || catalog?.kind === 'collection-restored') {
      const { collectionId: id, databaseId, name } = catalog
      this.add({ id, databaseId, name, lsnCreated: lsn })
      this.name(databaseId, name, { lsn, id, isAlias: false })
    } else if (catalog?.kind === 'collection-dropped') {
      const dropped = this.#collections.get(catalog.collectionId)
      if (!dropped) return
      this.#collections.set(dropped.id, { ...dropped, lsnDropped: lsn })
      this.name(dropped.databaseId, dropped.name, { lsn, id: 0, isAlias: false })
    } else if (catalog?.kind === 'alias-put') {
      this.name(catalog.databaseId, catalog.name, { lsn, id: catalog.targetId, isAlias: true })
    } else if (catalog?.kind === 'alias-dropped')
      this.name(catalog.databaseId, catalog.name, { lsn, id: 0, isAlias: true })
    else if (catalog?.kind === 'collection-promoted') this.#promote(lsn, catalog)
  }

  byId(id: number): Owned | undefined {
    return this.#collections.get(id)
  }

  /** Ids of the collections that a name or an alias ever led to. */
  everNamed(databaseId: number, name: string): ReadonlySet<number> {
    return new Set(this.#names.get(`${databaseId}/${nameInKey(name)}`)?.map(({ id }) => id))
  }

  /** Every alias of the replaced collection follows its name. */
  #promote(lsn: number, { databaseId, promotedId, replacedId, keptAs }: CollectionPromoted): void {
    for (const [key, namings] of this.#names) {
      const last = namings.findLast((naming) => naming.lsn < lsn)
      const name = key.slice(key.indexOf('/') + 1)
      if (last?.id === replacedId) {
        this.name(databaseId, name, { ...last, lsn, id: promotedId })
        if (!last.isAlias) this.#rename(promotedId, name)
      } else if (last?.id === promotedId && !last.isAlias) this.name(databaseId, name, { ...last, lsn, id: 0 })
    }
    this.name(databaseId, keptAs, { lsn, id: replacedId, isAlias: false })
    this.#rename(replacedId, keptAs)
  }

  #rename(id: number, name: string): void {
    const known = this.#collections.get(id)
    if (known) this.#collections.set(id, { ...known, name })
  }
}
