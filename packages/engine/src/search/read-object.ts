// A stored object as it is returned, in the owner's thread and in a reader's.
import type { JsonObject } from '../model/json.ts'
import type { StoredObject } from '../model/object.ts'
import { filterOf, metaOf, type ObjectText } from './object-text.ts'

export class ReadObject implements StoredObject {
  readonly id: string
  readonly dense: StoredObject['dense']
  readonly sparse: StoredObject['sparse']
  readonly multi: StoredObject['multi']
  readonly #text: ObjectText

  constructor(
    text: ObjectText,
    dense: StoredObject['dense'],
    sparse: StoredObject['sparse'],
    multi: StoredObject['multi'],
  ) {
    this.id = text.id
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
    return this.#text.filterText
  }

  toJSON(): Record<string, unknown> {
    const { id, meta, filter } = this
    const dense = Object.entries(this.dense).map(([name, { vector }]) => [name, [...vector]])
    const multi = Object.entries(this.multi).map(([name, members]) => [name, members.map(({ vector }) => [...vector])])
    const sparse = Object.entries(this.sparse).map(([name, { indices, values }]) => [
      name,
      { indices: [...indices], values: [...values] },
    ])
    return { id, meta, filter, fields: Object.fromEntries([...dense, ...sparse, ...multi]) }
  }
}
