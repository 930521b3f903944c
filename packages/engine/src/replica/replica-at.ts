// A replica as of an earlier version of its window: the objects that are still there, and those that the window holds. Ordinals are those of
// the version: each has at most one object. The window must be entered while it is used. Searches of dense fields walk the live graph and
// compare the removed rows; everything else is exactly what it was.

import type { Filter, Scalar } from '../filter/condition.ts'
import type { FilterIndex, FilterMatches } from '../filter/filter-index.ts'
import { matchesValues, scalarsUnder } from '../filter/matches-values.ts'
import { parseFilterValues } from '../filter/values.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import type { Copies } from '../memory/copies.ts'
import type { JsonObject } from '../model/json.ts'
import type { CollectionSchema } from '../model/schema.ts'
import { tokenMemory } from '../text/kept-tokens.ts'
import type { Analyzer } from '../text/params.ts'
import type { EarlierRecord } from './earlier-records.ts'
import { FieldAt } from './field-at.ts'
import { OriginalsAt } from './originals-at.ts'
import type { ReadableField, ReadableOriginals, ReadableReplica } from './readable.ts'
import { RecentMatches } from './recent-matches.ts'
import type { Replica, StoredRecords } from './replica.ts'
import type { HeldObject, Removed, VersionPlace, VersionWindow } from './version-window.ts'

/** What the window knows of the version at one version of the replica. */
interface Known {
  readonly at: number
  readonly releases: number
  readonly removed: ReadonlyMap<number, Removed>
  /** The texts that objects had, and the metas. */
  readonly texts: ReadonlyMap<number, EarlierRecord>
  readonly metas: ReadonlyMap<number, Uint8Array>
  ordinals: ReadonlyMap<string, number> | undefined
}

const noPin = { pin: () => () => undefined }

/** The view that a replica was last read with. */
const last = new WeakMap<Replica, ReplicaAt>()

/**
 * The state of a replica just after a record; undefined if it cannot be read here. Enter the window in this turn. `removedMax` is the number
 * of removed objects that are worth comparing one by one.
 */
export function readAt(live: Replica, lsn: number, removedMax: number): ReadableReplica | undefined {
  live.publish()
  // The window does not know what had expired at a moment.
  if (live.expiry.wasUsed) return undefined
  if (live.lsnApplied <= lsn) return live
  const place = live.window.placeAt(lsn)
  if (place === undefined || place.rows.some((rows, field) => isGrown(live.rowsAt(field), rows))) return undefined
  const known = last.get(live)
  const view = known?.version === place.version ? known : new ReplicaAt(live, place)
  last.set(live, view)
  return view.removed > removedMax ? undefined : view
}

/** Whether so many rows were added that walks as of the fewer ones would cost much more. */
function isGrown(rows: number, before: number): boolean {
  return rows > before * grownMax + grownRows
}

const grownMax = 1.5
const grownRows = 256

class ReplicaAt implements ReadableReplica {
  readonly dense: readonly (ReadableField | undefined)[]
  readonly sparse: Replica['sparse']
  readonly terms: Replica['terms']
  readonly originals: readonly (ReadableOriginals | undefined)[]
  readonly objects: StoredRecords
  readonly filters: Pick<FilterIndex, 'evaluate' | 'valuesOf'>
  readonly matches: RecentMatches
  /** Reads are registered in the window. */
  readonly pins = noPin
  /** Without expiries nothing has expired. */
  readonly expired = undefined
  readonly #live: Replica
  readonly #window: VersionWindow
  readonly #place: VersionPlace
  #known: Known | undefined

  constructor(live: Replica, place: VersionPlace) {
    const { window } = live
    this.#live = live
    this.#window = window
    this.#place = place
    const heldAt = (ordinal: number) => this.#heldAt(ordinal)
    const removed = () => this.#now().removed
    this.dense = live.dense.map((field, index) => field && new FieldAt(field, index, window, removed))
    this.sparse = live.sparse
    this.terms = live.terms
    this.originals = live.originals.map((files, index) => files && new OriginalsAt(files, index, heldAt))
    this.objects = new RecordsAt(live.objects, heldAt)
    this.filters = {
      evaluate: (filter) => this.#evaluate(filter),
      valuesOf: (key, within) => this.#valuesOf(key, within),
    }
    this.matches = new RecentMatches(this.filters)
  }

  get id(): number {
    return this.#live.id
  }

  get generation(): number {
    return this.#live.generation
  }

  get renumberings(): Replica['renumberings'] {
    return this.#live.renumberings
  }

  get definition(): CollectionSchema {
    return this.#place.definition
  }

  get version(): number {
    return this.#place.version
  }

  get lsnApplied(): number {
    return this.#place.lsn
  }

  /** Objects that were removed since the version. */
  get removed(): number {
    return this.#now().removed.size
  }

  rowsAt(field: number): number {
    return this.#place.rows[field] ?? 0
  }

  /** The version is whole in any case. */
  publish(): void {
    this.#live.publish()
  }

  find(id: string): number {
    const ordinal = this.#live.find(id)
    if (ordinal >= 0 && this.#window.wasThere(ordinal, this.#place)) return ordinal
    const known = this.#now()
    known.ordinals ??= new Map(Array.from(known.removed.keys(), (one) => [this.objects.idAt(one), one]))
    return known.ordinals.get(id) ?? -1
  }

  findStored(id: string): number {
    return this.find(id)
  }

  filterTextAt(ordinal: number): string {
    return this.#now().texts.get(ordinal)?.filter ?? this.objects.filterText(ordinal)
  }

  metaAt(ordinal: number, _version: number, copies?: Copies): Uint8Array {
    return this.#now().metas.get(ordinal) ?? this.objects.metaCopy(ordinal, copies)
  }

  lsnAt(ordinal: number): number {
    const lsn = this.#now().texts.get(ordinal)?.lsn ?? this.objects.lsnAt(ordinal)
    return Math.max(lsn, this.#live.lsnCreated)
  }

  #heldAt(ordinal: number): HeldObject | undefined {
    return this.#now().removed.get(ordinal)?.held
  }

  #now(): Known {
    this.#live.publish()
    const { version: at } = this.#live
    const { releases } = this.#window
    if (this.#known?.at === at && this.#known.releases === releases) return this.#known
    const removed = new Map(this.#window.removedAt(this.#place).map((one) => [one.ordinal, one]))
    const texts = new Map<number, EarlierRecord>()
    const metas = new Map<number, Uint8Array>()
    for (const { version, records } of this.#window.replacedSince(this.version))
      for (const [ordinal, record] of records) {
        // A later object may have had the ordinal.
        if (version > (removed.get(ordinal)?.death ?? Number.POSITIVE_INFINITY)) continue
        if (!texts.has(ordinal)) texts.set(ordinal, record)
        if (record.meta !== undefined && !metas.has(ordinal)) metas.set(ordinal, record.meta)
      }
    this.#known = { at, releases, removed, texts, metas, ordinals: undefined }
    return this.#known
  }

  #evaluate(filter: Filter): FilterMatches {
    const { removed, texts } = this.#now()
    const { bitmap } = this.#live.filters.evaluate(filter)
    this.#clearLater(bitmap)
    for (const ordinal of texts.keys()) bitmap.clear(ordinal)
    const offer = (ordinal: number) => {
      if (matchesValues(filter, this.#valuesAt(ordinal))) bitmap.set(ordinal)
    }
    for (const ordinal of removed.keys()) offer(ordinal)
    for (const ordinal of texts.keys()) if (!removed.has(ordinal) && this.#isThere(ordinal)) offer(ordinal)
    return { bitmap, count: bitmap.count }
  }

  /** Clears the ordinals whose objects were born after the version. */
  #clearLater(bitmap: Bitmap): void {
    const { end, version } = this.#place
    const { words } = bitmap
    const whole = end >>> 5
    if (whole < words.length) {
      words[whole] = (words[whole] as number) & ((1 << (end & 31)) - 1)
      words.fill(0, whole + 1)
      bitmap.recount()
    }
    for (const { ordinal } of this.#window.bornSince(version)) bitmap.clear(ordinal)
  }

  /** Whether the live object of an ordinal was there. */
  #isThere(ordinal: number): boolean {
    return this.#window.wasThere(ordinal, this.#place)
  }

  #valuesAt(ordinal: number): JsonObject {
    const text = this.filterTextAt(ordinal)
    return text === '' ? {} : parseFilterValues(text).values
  }

  /** Counts unchanged objects by the index, and the others one by one. */
  *#valuesOf(key: string, within: Bitmap | undefined): Generator<{ readonly value: Scalar; readonly count: number }> {
    const wanted = within ?? this.#evaluate([]).bitmap
    const { removed, texts } = this.#now()
    const unchanged = wanted.clone()
    const counts = new Map<Scalar, number>()
    for (const ordinal of new Set([...removed.keys(), ...texts.keys()])) {
      if (!unchanged.clear(ordinal)) continue
      for (const value of scalarsUnder(this.#valuesAt(ordinal), key)) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    for (const { value, count } of this.#live.filters.valuesOf(key, unchanged)) {
      yield { value, count: count + (counts.get(value) ?? 0) }
      counts.delete(value)
    }
    for (const [value, count] of counts) yield { value, count }
  }
}

/** The records of live ordinals, and of those that the window holds. */
class RecordsAt implements StoredRecords {
  readonly #live: StoredRecords
  readonly #heldAt: (ordinal: number) => HeldObject | undefined

  constructor(live: StoredRecords, heldAt: (ordinal: number) => HeldObject | undefined) {
    this.#live = live
    this.#heldAt = heldAt
  }

  get ordinalEnd(): number {
    return this.#live.ordinalEnd
  }

  idAt(ordinal: number): string {
    return this.#heldAt(ordinal)?.id ?? this.#live.idAt(ordinal)
  }

  lsnAt(ordinal: number): number {
    return this.#heldAt(ordinal)?.lsn ?? this.#live.lsnAt(ordinal)
  }

  recordBytesAt(ordinal: number): number {
    return this.#heldAt(ordinal)?.recordBytes ?? this.#live.recordBytesAt(ordinal)
  }

  textBytesAt(ordinal: number): number {
    return this.#heldAt(ordinal)?.textBytes ?? this.#live.textBytesAt(ordinal)
  }

  meta(ordinal: number): Uint8Array {
    return this.#heldAt(ordinal)?.meta ?? this.#live.meta(ordinal)
  }

  metaCopy(ordinal: number, copies?: Copies): Uint8Array {
    return this.#heldAt(ordinal)?.meta.slice() ?? this.#live.metaCopy(ordinal, copies)
  }

  filterText(ordinal: number): string {
    return this.#heldAt(ordinal)?.filter ?? this.#live.filterText(ordinal)
  }

  sparse(ordinal: number): ReturnType<StoredRecords['sparse']> {
    return [...(this.#heldAt(ordinal)?.sparse ?? this.#live.sparse(ordinal))]
  }

  /** Those of a held object are not kept, because a later object may have the ordinal. */
  keptTokens(ordinal: number, field: number): ReturnType<StoredRecords['keptTokens']> {
    return this.#heldAt(ordinal) === undefined ? this.#live.keptTokens(ordinal, field) : undefined
  }

  tokensOf(ordinal: number, field: number, analyzer: Analyzer, text: string): ReturnType<StoredRecords['tokensOf']> {
    if (this.#heldAt(ordinal) === undefined) return this.#live.tokensOf(ordinal, field, analyzer, text)
    return tokenMemory.analyze(analyzer, text)
  }
}
