// The meta and filter of a read object: bytes and text, decoded on access.
import type { JsonObject } from '../model/json.ts'
import { decodeMeta } from '../model/packed-meta.ts'

/** What is stored of an object besides its vectors. */
export interface ObjectText {
  readonly id: string
  readonly metaBytes: Uint8Array
  readonly filterText: string
}

export function metaOf({ metaBytes }: ObjectText): JsonObject | undefined {
  return decodeMeta(metaBytes)
}

export function filterOf({ filterText }: ObjectText): JsonObject {
  return filterText === '' ? {} : (JSON.parse(filterText) as JsonObject)
}
