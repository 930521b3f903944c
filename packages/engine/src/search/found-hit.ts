// A hit as searches return it, in the owner's thread and in a reader's.

import type { JsonObject } from '../model/json.ts'
import type { DenseRow } from '../model/object.ts'
import type { Highlight } from '../model/query.ts'
import type { SearchHit } from '../model/search-result.ts'
import { filterIn, splitText } from '../model/stored-text.ts'
import { filterOf, metaOf, type ObjectText } from './object-text.ts'

export class FoundHit implements SearchHit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly norm: number
  readonly members: readonly DenseRow[] | undefined
  readonly texts: { readonly [field: string]: string } | undefined
  readonly highlight: Highlight | undefined
  readonly #text: ObjectText
  readonly #row: DenseRow | undefined

  constructor(
    text: ObjectText,
    found: {
      readonly similarity: number
      readonly distance: number
      readonly norm: number
      readonly row: DenseRow | undefined
      readonly members: readonly DenseRow[] | undefined
      readonly texts?: { readonly [field: string]: string } | undefined
      readonly highlight?: Highlight | undefined
    },
  ) {
    this.id = text.id
    this.similarity = found.similarity
    this.distance = found.distance
    this.norm = found.norm
    this.members = found.members
    this.texts = found.texts
    this.highlight = found.highlight
    this.#text = text
    this.#row = found.row
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

  get row(): Float32Array | undefined {
    return this.#row?.row
  }

  get vector(): Float32Array | undefined {
    return this.#row?.vector
  }

  /** The form for JSON.stringify and console. */
  toJSON(): Record<string, unknown> {
    const { id, similarity, distance, norm, meta, filter, expiresAt, vector, members, texts, highlight } = this
    const vectors = members?.map((member) => [...member.vector])
    return {
      id,
      similarity,
      distance,
      norm,
      meta,
      filter,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(vector && { vector: [...vector] }),
      ...(vectors && { vectors }),
      ...(texts && { texts }),
      ...(highlight && { highlight }),
    }
  }
}
