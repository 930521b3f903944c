// Reads the versions of one object from the segments of the log. A call reads a part of a long log and keeps what it found out about the
// object, so that the call for the next page does not begin again.

import { authorOf } from '../events/author.ts'
import { decodeEvent, peekEvent } from '../events/codec.ts'
import { namesId } from '../events/object-ids.ts'
import { historyStepBytesMax } from '../limits.ts'
import type { ObjectEvent } from '../model/event.ts'
import type { ObjectVersion, VersionPage } from '../model/history.ts'
import type { LogBook, ReadSegment } from './log-book.ts'
import { follow, type Known } from './object-versions.ts'

export interface VersionsWish {
  readonly book: LogBook
  /** Those that have records of the collection, oldest first. */
  readonly segments: readonly ReadSegment[]
  readonly collectionId: number
  readonly fieldNames: readonly string[]
  /** Whether the log has every record of the collection, and it began empty. */
  readonly isWhole: boolean
  /** Whether the object exists now. */
  readonly existsNow: boolean
  readonly id: string
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** Where the next page begins to read. */
interface Place {
  /** Records before this one are read. */
  readonly lsn: number
  readonly known: Known
}

/** Pages whose places are kept, for each log: at most 64 KiB of meta and filter values each, and some more. */
const placesMax = 64
const placesOf = new WeakMap<LogBook, Map<string, Place>>()

export async function readVersions(wish: VersionsWish): Promise<Pick<VersionPage, 'versions' | 'next'>> {
  const { book, segments, collectionId, id, from, to, limit, isWhole } = wish
  const places = placesOf.get(book) ?? new Map<string, Place>()
  placesOf.set(book, places)
  const keyOf = (next: number) => `${collectionId} ${next} ${id}`
  const begin = places.get(keyOf(from)) ?? { lsn: 0, known: isWhole ? ('absent' as const) : ('unknown' as const) }
  const versions: ObjectVersion[] = []
  const idBytes = Buffer.from(id)
  let { known } = begin
  let bytes = 0
  const pageUntil = (next: number, lsn: number): Pick<VersionPage, 'versions' | 'next'> => {
    // The place of a page that is read again stays; the oldest one is forgotten.
    places.delete(keyOf(next))
    places.set(keyOf(next), { lsn, known })
    const [oldest] = places.keys()
    if (places.size > placesMax && oldest !== undefined) places.delete(oldest)
    return { versions, next }
  }
  for (const { lsnFirst, lsnTo } of segments) {
    if (lsnTo < begin.lsn || lsnFirst > to) continue
    if (bytes >= historyStepBytesMax) return pageUntil(Math.max(from, lsnFirst), lsnFirst)
    const range = { from: Math.max(begin.lsn, lsnFirst), to: Math.min(lsnTo, to) }
    for await (const record of book.objectRecords(collectionId, range)) {
      const { lsn, payload } = record
      bytes += payload.length
      if (!namesId(payload, idBytes)) continue
      if (versions.length >= limit) return pageUntil(lsn, lsn)
      const { timeMs } = peekEvent(payload)
      const place = { lsn, timeMs, author: authorOf(record) }
      const followed = follow(known, decodeEvent(record) as ObjectEvent, { id, fieldNames: wish.fieldNames, place })
      const { version } = followed
      if (version !== undefined && lsn >= from) {
        if (known === 'unknown' && existedBefore(version)) versions.push(earlier(lsn - 1))
        versions.push(version)
      }
      known = followed.known
    }
  }
  // No record in reach names it, but it exists.
  const lsnLast = segments.at(-1)?.lsnTo ?? 0
  if (known === 'unknown' && wish.existsNow && versions.length === 0 && begin.lsn === 0)
    versions.push(earlier(Math.min(lsnLast, to)))
  return { versions }
}

/** A deletion or an update of something that is not known says that there was an object. */
function existedBefore({ kind }: ObjectVersion): boolean {
  return kind === 'deleted' || kind === 'expired' || kind === 'filter-updated' || kind === 'patched'
}

function earlier(lsn: number): ObjectVersion {
  return { lsn, kind: 'earlier', exists: true }
}
