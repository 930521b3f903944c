// The meta and filter of a hit and of a read object: bytes and text, decoded on access. Both classes have the same getters: a class that
// they extend would make each hit cost half as much again.

import type { JsonObject } from '../model/json.ts'
import { decodeMeta } from '../model/packed-meta.ts'
import { filterIn } from '../model/stored-text.ts'

/** What is stored of an object besides its vectors. */
export interface ObjectText {
  readonly id: string
  readonly metaBytes: Uint8Array
  /** As it is stored: with the expiry. */
  readonly storedText: string
}

export function metaOf({ metaBytes }: ObjectText): JsonObject | undefined {
  return decodeMeta(metaBytes)
}

export function filterOf({ storedText }: ObjectText): JsonObject {
  const filter = filterIn(storedText)
  return filter === '' ? {} : (JSON.parse(filter) as JsonObject)
}
