// The names of one database's collections: aliases, and the exchange of names when a collection is promoted. Each change is one record,
// created when all earlier changes of the catalog are applied, so that its checks still hold.
import type { Catalog } from './catalog/catalog.ts'
import type { LocalCollection } from './collection/collection.ts'
import type { CommitOptions, EventDraft } from './commit.ts'
import { EngineError } from './errors.ts'
import { aliasesOfDatabaseMax } from './limits.ts'
import type { NameEvent } from './model/event.ts'
import { checkObject, parseName, printed } from './model/ids.ts'
import type { AliasDescription, BranchDescription, Promotion } from './model/names.ts'
import type { Acknowledgement } from './model/object.ts'
import type { WriteOptions } from './model/requests.ts'
import { keyed } from './requests/keyed.ts'
import type { KeptRequests } from './requests/request-keys.ts'

type NameDraft = Extract<EventDraft, { kind: NameEvent['kind'] }>

/** The engine's functions that names use. */
export interface NamingHost {
  readonly catalog: Catalog
  /** The state at the end of the log, also while the log is replayed. */
  readonly catalogAhead: Catalog
  /** Names of collections that are being created; a name is reserved in the turn in which it is found free. */
  readonly creating: Set<string>
  /** Names that aliases or renamed collections are about to take, and how many calls do. */
  readonly naming: Map<string, number>
  loaded(id: number): LocalCollection | undefined
  readonly keys: KeptRequests
  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commitAlone(makeDraft: () => NameDraft, options?: CommitOptions): Promise<Acknowledgement>
}

export class Naming {
  readonly #databaseId: number
  readonly #host: NamingHost
  /** Throws when the engine is closed or the database was deleted. */
  readonly #checkThere: () => void

  constructor(databaseId: number, host: NamingHost, checkThere: () => void) {
    this.#databaseId = databaseId
    this.#host = host
    this.#checkThere = checkThere
  }

  aliases(): readonly AliasDescription[] {
    this.#checkThere()
    const { catalogAhead } = this.#host
    return catalogAhead.aliasesOf(this.#databaseId).map(({ name, collectionId, lsn, timeMs: changedAt }) => {
      const collection = catalogAhead.byId(collectionId)?.definition.name ?? ''
      return { name, collection, lsn, changedAt }
    })
  }

  async putAlias(
    wanted: string,
    collection: string,
    options?: WriteOptions,
  ): Promise<Acknowledgement & Pick<AliasDescription, 'name' | 'collection'>> {
    const name = parseName(wanted, 'name')
    const [host, databaseId] = [this.#host, this.#databaseId]
    const call = { databaseId, parts: () => ['putAlias', name, String(collection)] }
    const acknowledged = await keyed(host.keys, options, call, (claim) =>
      this.#taking(name, () =>
        host.commitAlone(
          () => {
            this.#checkThere()
            this.#checkNoCollection(name, 'name')
            const targetId = this.#target(collection)
            const { length } = host.catalog.aliasesOf(databaseId)
            if (!host.catalog.alias(databaseId, name) && length >= aliasesOfDatabaseMax) refuseMore(name)
            return { kind: 'alias-put', databaseId, name, targetId }
          },
          { claim },
        ),
      ),
    )
    return { name, collection, lsn: acknowledged.lsn, durable: acknowledged.durable }
  }

  async deleteAlias(name: string, options?: WriteOptions): Promise<Acknowledgement> {
    const [host, databaseId] = [this.#host, this.#databaseId]
    const call = { databaseId, parts: () => ['deleteAlias', String(name)] }
    return keyed(host.keys, options, call, (claim) =>
      host.commitAlone(
        () => {
          this.#checkThere()
          const alias = host.catalog.alias(databaseId, name) ?? refuseAlias(name)
          return { kind: 'alias-dropped', databaseId, name: alias.name }
        },
        { claim },
      ),
    )
  }

  async promote(name: string, promotion: Promotion, options?: WriteOptions): Promise<Acknowledgement> {
    checkObject(promotion, 'promotion')
    const { over, keepAs } = promotion
    const kept = parseName(keepAs, 'keep_as')
    const [host, databaseId] = [this.#host, this.#databaseId]
    const call = { databaseId, parts: () => ['promote', String(name), String(over), kept] }
    return keyed(host.keys, options, call, async (claim) => {
      await this.#served(name)
      return this.#taking(kept, () =>
        host.commitAlone(
          () => {
            this.#checkThere()
            const { catalog } = host
            const promoted = catalog.resolve(databaseId, name) ?? refuseCollection(name, 'collection')
            const replaced = catalog.find(databaseId, over) ?? this.#refuseTarget(over, 'over')
            if (promoted === replaced) {
              const message = `collection ${printed(name)} cannot replace itself`
              throw new EngineError('invalid_argument', message, { field: 'over', value: over })
            }
            // Throws unless it serves.
            void host.loaded(promoted.id)?.replica
            if (kept !== promoted.definition.name) this.#checkFree(kept, 'keep_as')
            return {
              kind: 'collection-promoted',
              databaseId,
              promotedId: promoted.id,
              replacedId: replaced.id,
              keptAs: kept,
            }
          },
          { claim },
        ),
      )
    })
  }

  /** A clone that is still being loaded is waited for. */
  async #served(name: string): Promise<void> {
    this.#checkThere()
    const { id } = this.#host.catalogAhead.resolve(this.#databaseId, name) ?? refuseCollection(name, 'collection')
    await this.#host.loaded(id)?.served()
  }

  /** Every collection that has a common ancestor with this one. */
  branches(collectionId: number): readonly BranchDescription[] {
    const { catalog, loaded } = { catalog: this.#host.catalog, loaded: (id: number) => this.#host.loaded(id) }
    const existing = catalog.collectionsOf(this.#databaseId).map(({ id, definition, createdAtMs, parent }) => {
      return { id, name: definition.name, createdAt: createdAtMs, parent, objects: loaded(id)?.objects ?? 0 }
    })
    const former = catalog.formerParentsOf(this.#databaseId).map(({ createdAtMs, deletedAtMs, ...rest }) => {
      return { ...rest, createdAt: createdAtMs, deletedAt: deletedAtMs }
    })
    const all = new Map([...former, ...existing].map((one) => [one.id, one]))
    const rootOf = (id: number): number => {
      const { parent } = all.get(id) ?? {}
      return parent === undefined ? id : rootOf(parent.id)
    }
    const root = rootOf(collectionId)
    return [...all.values()]
      .filter(({ id }) => rootOf(id) === root)
      .sort((a, b) => a.id - b.id)
      .map(({ parent, ...one }) => {
        const { id, name, createdAt } = one
        return {
          id,
          name,
          ...(parent && { parentId: parent.id, parentLsn: parent.lsn }),
          createdAt,
          ...('deletedAt' in one ? { deletedAt: one.deletedAt } : { objects: one.objects }),
        }
      })
  }

  /** In the turn of the call the name is kept from new collections, until the record is applied. */
  async #taking<T>(name: string, action: () => Promise<T>): Promise<T> {
    const reserved = `${this.#databaseId}/${name}`
    const { naming } = this.#host
    naming.set(reserved, (naming.get(reserved) ?? 0) + 1)
    try {
      return await action()
    } finally {
      const count = (naming.get(reserved) ?? 1) - 1
      if (count > 0) naming.set(reserved, count)
      else naming.delete(reserved)
    }
  }

  #target(collection: string): number {
    return (this.#host.catalog.find(this.#databaseId, collection) ?? this.#refuseTarget(collection, 'collection')).id
  }

  /** An alias leads to a collection, and a collection replaces a collection. */
  #refuseTarget(name: string, field: string): never {
    if (!this.#host.catalog.alias(this.#databaseId, name)) refuseCollection(name, field)
    const message = `${field} ${printed(name)} is an alias; give the name of a collection`
    throw new EngineError('invalid_argument', message, { field, value: name })
  }

  #checkNoCollection(name: string, field: string): void {
    const { catalog, creating } = this.#host
    if (catalog.find(this.#databaseId, name) || creating.has(`${this.#databaseId}/${name}`))
      refuseTaken('collection_exists', name, field)
  }

  #checkFree(name: string, field: string): void {
    this.#checkNoCollection(name, field)
    if (this.#host.catalog.alias(this.#databaseId, name)) refuseTaken('alias_exists', name, field)
  }
}

/** Throws collection_exists or alias_exists. */
export function refuseTaken(code: 'collection_exists' | 'alias_exists', value: string, field: string): never {
  const what = code === 'alias_exists' ? 'an alias' : 'a collection'
  throw new EngineError(code, `${what} ${printed(value)} already exists`, { field, value })
}

/** Throws collection_not_found. */
export function refuseCollection(name: string, field: string, when = ''): never {
  throw new EngineError('collection_not_found', `there is no collection ${printed(name)}${when}`, {
    field,
    value: name,
  })
}

function refuseAlias(name: string): never {
  throw new EngineError('alias_not_found', `there is no alias ${printed(name)}`, { field: 'name', value: name })
}

function refuseMore(value: string): never {
  const message = `there are already ${aliasesOfDatabaseMax} aliases in this database, the limit`
  throw new EngineError('limit_exceeded', message, { field: 'name', value, limit: aliasesOfDatabaseMax })
}
