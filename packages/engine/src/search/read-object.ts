// A stored object as it is returned, in the owner's thread and in a reader's.

import type { JsonObject } from '../model/json.ts'
import type { StoredObject } from '../model/object.ts'
import { filterIn, splitText } from '../model/stored-text.ts'
import { filterOf, metaOf, type ObjectText } from './object-text.ts'

/** The parts of an object besides its vectors. */
export interface StoredHead extends ObjectText {
  readonly lsn: number
}

export class ReadObject implements StoredObject {
  readonly id: string
  readonly lsn: number
  readonly dense: StoredObject['dense']
  readonly sparse: StoredObject['sparse']
  readonly multi: StoredObject['multi']
  readonly #text: ObjectText

  constructor(
    text: StoredHead,
    dense: StoredObject['dense'],
    sparse: StoredObject['sparse'],
    multi: StoredObject['multi'],
  ) {
    this.id = text.id
    this.lsn = text.lsn
    this.dense = dense
    this.sparse = sparse
    this.multi = multi
    this.#text = text
  }

  get meta(): JsonObject | undefined {
    return metaOf(this.#text)
  }

  get metaBytes(): Uint8Array {
    return this.#text.metaBytes
  }

  get filter(): JsonObject {
    return filterOf(this.#text)
  }

  get filterText(): string {
    return filterIn(this.#text.storedText)
  }

  get expiresAt(): number | undefined {
    return splitText(this.#text.storedText).expiresAt
  }

  toJSON(): Record<string, unknown> {
    const { id, lsn, meta, filter, expiresAt } = this
    const dense = Object.entries(this.dense).map(([name, { vector }]) => [name, [...vector]])
    const multi = Object.entries(this.multi).map(([name, members]) => [name, members.map(({ vector }) => [...vector])])
    const sparse = Object.entries(this.sparse).map(([name, { indices, values }]) => [
      name,
      { indices: [...indices], values: [...values] },
    ])
    const expiry = expiresAt === undefined ? {} : { expiresAt }
    return { id, lsn, meta, filter, ...expiry, fields: Object.fromEntries([...dense, ...sparse, ...multi]) }
  }
}
