// What a life remembers: the collections that the server must have, where its alias leads, and moments with what was there.
import type { ModelCollection, ModelObject } from '../../../engine/test/model/model.ts'

/** A collection of the model. Another one of the same name has another number. */
export interface NumberedCollection extends ModelCollection {
  readonly number: number
}

/** What a collection had as of a record. */
export interface RememberedMoment {
  readonly collection: string
  readonly number: number
  readonly lsn: number
  readonly objects: ReadonlyMap<string, ModelObject>
}

/** Collections by name. */
export class Model extends Map<string, NumberedCollection> {
  /** Names of collections by alias. */
  readonly aliases = new Map<string, string>()
  readonly moments: RememberedMoment[] = []
  #numbers = 0

  /** The collection that a name or an alias leads to. */
  resolve(name: string): NumberedCollection | undefined {
    return this.get(this.aliases.get(name) ?? name)
  }

  /** What forbids to create something with this name; undefined if nothing does. */
  refuseName(name: string): 'collection_exists' | 'alias_exists' | undefined {
    if (this.has(name)) return 'collection_exists'
    return this.aliases.has(name) ? 'alias_exists' : undefined
  }

  add(name: string, collection: ModelCollection): void {
    this.set(name, { ...collection, number: this.#numbers++ })
  }

  /** Moments of collections that still exist. */
  get reachable(): readonly RememberedMoment[] {
    return this.moments.filter(({ collection, number }) => this.get(collection)?.number === number)
  }

  /** A copy that changes separately. */
  copy(): Model {
    const copy = new Model()
    for (const [name, one] of this) copy.set(name, { ...one, objects: new Map(one.objects) })
    for (const [alias, name] of this.aliases) copy.aliases.set(alias, name)
    copy.moments.push(...this.moments)
    copy.#numbers = this.#numbers
    return copy
  }
}
