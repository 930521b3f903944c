// What the records of the log do not say about the collections that they name, including deleted ones: their database and fields, which name
// each of them had at a record, and where aliases led.
import type { AliasEntry, CollectionEntry } from '../catalog/catalog-state.ts'
import type { CollectionPromoted, Event } from '../model/event.ts'
import type { FieldSchema } from '../model/schema.ts'

/** A collection of the feed, as of a record. */
export interface FedCollection {
  readonly databaseId: number
  readonly name: string
  /** Names, types and sizes never change. */
  readonly fields: readonly FieldSchema[]
}

/** A fact that holds from a record on. */
interface Since<T> {
  readonly lsn: number
  readonly value: T
}

interface Known extends Omit<FedCollection, 'name'> {
  /** In the order of records. */
  names: readonly Since<string>[]
}

/** What a catalog says. */
export interface LearnedCatalog {
  readonly collections: readonly Pick<CollectionEntry, 'id' | 'databaseId' | 'definition' | 'lsnCreated' | 'lsnNamed'>[]
  readonly aliases?: readonly AliasEntry[]
}

/** Collections by their ids, which are never reused. Records and catalogs may be noted in any order, and again. */
export class CollectionFacts {
  readonly #known = new Map<number, Known>()
  /** Ids of collections by database and alias, 0 for none. */
  readonly #aliases = new Map<string, readonly Since<number>[]>()

  /** The collection just after a record. Its oldest known name, if the name at that record is not known. */
  at(id: number, lsn: number): FedCollection | undefined {
    const known = this.#known.get(id)
    const name = valueAt(known?.names, lsn) ?? known?.names[0]?.value
    if (known === undefined || name === undefined) return undefined
    return { databaseId: known.databaseId, name, fields: known.fields }
  }

  /** The collection that an event is about, just after its record. */
  subjectOf(lsn: number, event: Event): FedCollection | undefined {
    const id = this.#subjectId(lsn, event)
    return id === undefined ? undefined : this.at(id, lsn)
  }

  /** Whether a change of the feed can be made of the record. */
  isComplete(lsn: number, event: Event): boolean {
    if (!isFed(event)) return true
    const id = this.#subjectId(lsn, event)
    return id !== undefined && valueAt(this.#known.get(id)?.names, lsn) !== undefined
  }

  learn({ collections, aliases = [] }: LearnedCatalog): void {
    for (const { id, databaseId, definition, lsnCreated, lsnNamed } of collections)
      this.#name(id, databaseId, definition.fields, { lsn: lsnNamed ?? lsnCreated, value: definition.name })
    for (const { databaseId, name, collectionId, lsn } of aliases) this.#lead(databaseId, name, lsn, collectionId)
  }

  note(lsn: number, event: Event): void {
    switch (event.kind) {
      case 'collection-created':
      case 'collection-restored':
        this.#name(event.collectionId, event.databaseId, event.fields, { lsn, value: event.name })
        break
      case 'collection-promoted':
        this.#promote(lsn, event)
        break
      case 'alias-put':
        this.#lead(event.databaseId, event.name, lsn, event.targetId)
        break
      case 'alias-dropped':
        this.#lead(event.databaseId, event.name, lsn, 0)
        break
      default:
    }
  }

  #subjectId(lsn: number, event: Event): number | undefined {
    if ('collectionId' in event) return event.collectionId
    if (event.kind === 'alias-put') return event.targetId
    if (event.kind === 'collection-promoted') return event.promotedId
    if (event.kind !== 'alias-dropped') return undefined
    return valueAt(this.#aliases.get(aliasKey(event.databaseId, event.name)), lsn - 1) || undefined
  }

  #name(id: number, databaseId: number, fields: readonly FieldSchema[], name: Since<string>): void {
    const known = this.#known.get(id) ?? { databaseId, fields, names: [] }
    known.names = withFact(known.names, name)
    this.#known.set(id, known)
  }

  #lead(databaseId: number, name: string, lsn: number, value: number): void {
    const key = aliasKey(databaseId, name)
    this.#aliases.set(key, withFact(this.#aliases.get(key) ?? [], { lsn, value }))
  }

  /** The name and the aliases of the replaced collection lead to the promoted one. */
  #promote(lsn: number, { promotedId, replacedId, keptAs }: CollectionPromoted): void {
    const [promoted, replaced] = [this.#known.get(promotedId), this.#known.get(replacedId)]
    const taken = valueAt(replaced?.names, lsn - 1)
    if (promoted && taken !== undefined) promoted.names = withFact(promoted.names, { lsn, value: taken })
    if (replaced) replaced.names = withFact(replaced.names, { lsn, value: keptAs })
    for (const [key, facts] of this.#aliases)
      if (valueAt(facts, lsn - 1) === replacedId) this.#aliases.set(key, withFact(facts, { lsn, value: promotedId }))
  }
}

/** Whether the feed delivers the event. */
export function isFed(event: Event): boolean {
  return (
    'collectionId' in event || 'promotedId' in event || event.kind === 'alias-put' || event.kind === 'alias-dropped'
  )
}

function aliasKey(databaseId: number, name: string): string {
  return `${databaseId}/${name}`
}

function valueAt<T>(facts: readonly Since<T>[] | undefined, lsn: number): T | undefined {
  return facts?.findLast((fact) => fact.lsn <= lsn)?.value
}

function withFact<T>(facts: readonly Since<T>[], fact: Since<T>): readonly Since<T>[] {
  const others = facts.filter(({ lsn }) => lsn !== fact.lsn)
  return [...others, fact].sort((a, b) => a.lsn - b.lsn)
}
