// The meta of one reply of an embedded engine: the same objects and bytes that a server and the client together return.
import { MetaBudget } from '@annal/engine'
import type { JsonObject } from '../model.ts'
import { MetaReader } from '../packed-meta.ts'
import { type RawMeta, splitMeta } from '../stored-object.ts'

export class Metas {
  /** As a server. */
  readonly #budget = new MetaBudget()
  /** As the client, with what exceeds the budget of a server. */
  readonly #reader = new MetaReader()

  /** Bytes if the stored meta is opaque or inflates beyond a limit; `{}` if there is none. */
  read(stored: Uint8Array): JsonObject | Uint8Array {
    const { meta, limit } = this.#budget.read(stored)
    return meta ?? this.#reader.fromBytes(stored, limit)
  }

  /** The meta of an object of a collection. Empty meta counts as none. */
  collectionMeta(stored: Uint8Array): RawMeta & { readonly meta: JsonObject | undefined } {
    return splitMeta(this.read(stored))
  }
}
