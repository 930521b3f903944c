// A stored object as it is returned, in the owner's thread and in a reader's.

import type { JsonObject } from '../model/json.ts'
import type { StoredObject } from '../model/object.ts'
import type { FieldSchema } from '../model/schema.ts'
import { filterIn, splitText } from '../model/stored-text.ts'
import type { SparseTermsOfField } from '../replica/object-record.ts'
import { filterOf, metaOf, type ObjectText } from './object-text.ts'

/** The parts of an object besides what it has in its fields. */
export interface StoredHead extends ObjectText {
  readonly lsn: number
}

/** What an object has in its fields. */
export type FieldContents = Pick<StoredObject, 'dense' | 'sparse' | 'multi' | 'text'>

export const noContents: FieldContents = { dense: {}, sparse: {}, multi: {}, text: {} }

/** The sparse terms and the texts of a record, by the names of their fields. */
export function listContents(
  fields: readonly FieldSchema[],
  terms: readonly SparseTermsOfField[],
): Pick<FieldContents, 'sparse' | 'text'> {
  const sparse: Record<string, StoredObject['sparse'][string]> = {}
  const texts: Record<string, string> = {}
  for (const { field, indices, values, text } of terms) {
    const schema = fields[field]
    if (schema === undefined) continue
    if (text !== undefined) texts[schema.name] = text
    else sparse[schema.name] = { indices, values }
  }
  return { sparse, text: texts }
}

export class ReadObject implements StoredObject {
  readonly id: string
  readonly lsn: number
  readonly dense: StoredObject['dense']
  readonly sparse: StoredObject['sparse']
  readonly multi: StoredObject['multi']
  readonly text: StoredObject['text']
  readonly #text: ObjectText

  constructor(head: StoredHead, { dense, sparse, multi, text }: FieldContents) {
    this.id = head.id
    this.lsn = head.lsn
    this.dense = dense
    this.sparse = sparse
    this.multi = multi
    this.text = text
    this.#text = head
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
    const fields = { ...Object.fromEntries([...dense, ...sparse, ...multi]), ...this.text }
    return { id, lsn, meta, filter, ...expiry, fields }
  }
}
