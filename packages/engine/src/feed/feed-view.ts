// The changes that one kind of request gets. Consumers with equal requests share a view, and so the changes and batches that it makes.

import { feedBatchMax } from '../limits.ts'
import type { ChangeBatch, RecordedChange } from '../model/changes.ts'
import type { Event } from '../model/event.ts'
import { changeOf } from './change-of.ts'
import type { CollectionFacts } from './collection-facts.ts'
import type { ChangesWanted } from './parse-changes.ts'

/** A record of the log, decoded. */
export interface FeedRecord {
  readonly lsn: number
  readonly event: Event
  /** That it takes in memory. */
  readonly bytes: number
}

export class FeedView {
  /** How many consumers use it. */
  consumers = 0
  readonly #databaseId: number
  readonly #wanted: ChangesWanted
  readonly #facts: CollectionFacts
  /** The batch that the last consumer got. Others that wait at the same place get the same. */
  #newest: { readonly from: number; readonly to: number; readonly batch: ChangeBatch } | undefined

  constructor(databaseId: number, wanted: ChangesWanted, facts: CollectionFacts) {
    this.#databaseId = databaseId
    this.#wanted = wanted
    this.#facts = facts
  }

  /** The batch of records that begin at `from` and reach `to`, or fewer if they are many. */
  batch(records: Iterable<FeedRecord>, from: number, to: number): ChangeBatch {
    const newest = this.#newest
    if (newest?.from === from && newest.to === to) return newest.batch
    const changes: RecordedChange[] = []
    let lsn = to
    for (const record of records) {
      const change = this.#changeOf(record)
      if (change === undefined) continue
      changes.push(change)
      if (changes.length < feedBatchMax) continue
      lsn = record.lsn
      break
    }
    const batch = { changes, lsn }
    this.#newest = { from, to, batch }
    return batch
  }

  /** Undefined for a record that the request does not want, or of another database. */
  #changeOf({ lsn, event }: FeedRecord): RecordedChange | undefined {
    const { collections, kinds } = this.#wanted
    const collection = this.#facts.subjectOf(lsn, event)
    if (collection === undefined || collection.databaseId !== this.#databaseId) return undefined
    if (kinds !== undefined && !kinds.has(event.kind)) return undefined
    if (collections !== undefined && !collections.has(collection.name)) return undefined
    return changeOf(lsn, event, collection, this.#wanted)
  }
}
