// The hits of one search as bytes in shared memory. One buffer serves all searches of a reader, one after another.

import type { SharedBytes } from '../memory/chunks.ts'
import type { SearchRecall } from '../model/calibration.ts'
import type { HitBytes } from '../model/reader.ts'
import { expiryBytes, expiryMark, splitText } from '../model/stored-text.ts'
import type { ObjectPlace, ReplicaView } from './replica-view.ts'

/** Copies up to this many bytes one by one: a view of shared memory costs more than all of them. */
const copiedSingly = 64
const noBytes: SharedBytes = new Uint8Array(new SharedArrayBuffer(0))

interface HitPlace extends ObjectPlace {
  ordinal: number
  similarity: number
  norm: number
}

export class HitBuffer implements HitBytes {
  readonly #places: HitPlace[] = []
  #isCosine = false
  count = 0
  lsn = 0
  /** Always: a search that would be incomplete is left to the owner. */
  readonly complete = true
  recall: SearchRecall | undefined
  /** Whether rows in memory do not order the hits well. */
  isUnresolved = false

  /** Begins the hits of another search. */
  begin(facts: { readonly lsn: number; readonly isCosine: boolean }): void {
    this.count = 0
    this.recall = undefined
    this.isUnresolved = false
    this.lsn = facts.lsn
    this.#isCosine = facts.isCosine
  }

  add(ordinal: number, similarity: number, norm: number): void {
    const place = this.#places[this.count] ?? emptyPlace()
    this.#places[this.count] = place
    this.count++
    place.ordinal = ordinal
    // Adding 0 turns -0, the negated distance of an equal vector, into 0.
    place.similarity = similarity + 0
    place.norm = norm
  }

  /** Finds the bytes of all hits. False: some are being replaced now. */
  locate(view: ReplicaView): boolean {
    for (let hit = 0; hit < this.count; hit++) {
      const place = this.#at(hit)
      view.findAddresses(place.ordinal, place)
    }
    for (let hit = 0; hit < this.count; hit++) if (!view.locate(this.#at(hit))) return false
    return true
  }

  ordinal(hit: number): number {
    return this.#at(hit).ordinal
  }

  similarity(hit: number): number {
    return this.#at(hit).similarity
  }

  distance(hit: number): number {
    const { similarity } = this.#at(hit)
    return this.#isCosine ? 1 - similarity : 0 - similarity
  }

  norm(hit: number): number {
    return this.#at(hit).norm
  }

  idBytes(hit: number): number {
    return this.#at(hit).idBytes
  }

  metaBytes(hit: number): number {
    return this.#at(hit).metaBytes
  }

  filterBytes(hit: number): number {
    const place = this.#at(hit)
    return place.filterBytes - expiryIn(place)
  }

  copyId(hit: number, target: Uint8Array, offset: number): void {
    const { id, idOffset, idBytes } = this.#at(hit)
    copy(id, idOffset, idBytes, target, offset)
  }

  copyMeta(hit: number, target: Uint8Array, offset: number): void {
    const { record, metaOffset, metaBytes } = this.#at(hit)
    copy(record, metaOffset, metaBytes, target, offset)
  }

  copyFilter(hit: number, target: Uint8Array, offset: number): void {
    const place = this.#at(hit)
    const { record, metaOffset, metaBytes, filterBytes } = place
    const expiry = expiryIn(place)
    copy(record, metaOffset + metaBytes + expiry, filterBytes - expiry, target, offset)
  }

  expiresAt(hit: number): number | undefined {
    const place = this.#at(hit)
    const bytes = expiryIn(place)
    if (bytes === 0) return undefined
    const expiry = Buffer.alloc(bytes)
    copy(place.record, place.metaOffset + place.metaBytes, bytes, expiry, 0)
    return splitText(expiry.toString('latin1')).expiresAt
  }

  #at(hit: number): HitPlace {
    const place = hit < this.count ? this.#places[hit] : undefined
    if (place === undefined) throw new RangeError(`there are ${this.count} hits, and none with number ${hit}`)
    return place
  }
}

export function emptyPlace(): HitPlace {
  return {
    ordinal: 0,
    similarity: 0,
    norm: 0,
    idUnit: 0,
    recordUnit: 0,
    id: noBytes,
    idOffset: 0,
    idBytes: 0,
    record: noBytes,
    metaOffset: 0,
    metaBytes: 0,
    filterBytes: 0,
    recordBytes: 0,
  }
}

/** Bytes of the expiry in front of the filter. */
function expiryIn({ record, metaOffset, metaBytes, filterBytes }: ObjectPlace): number {
  return filterBytes >= expiryBytes && record[metaOffset + metaBytes] === expiryMark ? expiryBytes : 0
}

function copy(source: SharedBytes, from: number, length: number, target: Uint8Array, offset: number): void {
  if (length > copiedSingly) target.set(source.subarray(from, from + length), offset)
  else for (let i = 0; i < length; i++) target[offset + i] = source[from + i] as number
}
