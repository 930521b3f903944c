// The aliases of a database.
import type { AliasInfo } from './name-info.ts'
import type { ReadOptions, Transport, WriteOptions } from './transport.ts'

/** Names that lead to collections. Every call that takes the name of a collection takes an alias. */
export class Aliases {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists the aliases.
   *
   * @example
   * ```ts
   * for (const { name, collection } of await client.aliases.list()) console.log(`${name} leads to ${collection}`)
   * ```
   */
  list(options?: ReadOptions): Promise<readonly AliasInfo[]> {
    return this.#transport.call('listAliases', undefined, options)
  }

  /**
   * Creates an alias, or switches it to another collection. No later call by this name reaches the old collection. Fails with
   * `collection_exists` if a collection has the name.
   *
   * @example
   * ```ts
   * await client.aliases.put('live', 'films')
   * ```
   */
  async put(alias: string, collection: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('putAlias', { alias, collection }, options)
  }

  /**
   * Deletes an alias; its collection stays.
   *
   * @example
   * ```ts
   * await client.aliases.delete('live')
   * ```
   */
  async delete(alias: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteAlias', { alias }, options)
  }
}
