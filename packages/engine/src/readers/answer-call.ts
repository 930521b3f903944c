// The owner's answers to readers, in forms that can be sent between threads.
import { parseFilter } from '../filter/parse-filter.ts'
import type { Collection } from '../model/collection.ts'
import type { DenseRow, StoredObject } from '../model/object.ts'
import type { SearchHit, SearchResult } from '../model/search-result.ts'
import { storedText } from '../model/stored-text.ts'
import type { Replica } from '../replica/replica.ts'
import { mapHits } from '../search/map-hits.ts'
import type { OwnerCall, SentHit, SentObject, SentResult, SharedMatches } from '../sharing/messages.ts'

export interface AnswerHost {
  /** Throws the errors of a call for a collection that does not exist or does not serve. */
  collection(database: string, name: string): Collection
  /** The replica of a header, while it serves. */
  replicaOf(header: number): Replica | undefined
}

/** Throws the errors of the call on the collection itself. */
export async function answerCall(
  call: OwnerCall,
  host: AnswerHost,
): Promise<SharedMatches | SentResult | readonly SentObject[] | undefined> {
  switch (call.kind) {
    case 'matches': {
      const replica = host.replicaOf(call.header)
      return replica && matchesOf(replica, call)
    }
    case 'search':
      return sentResult(await host.collection(call.database, call.collection).search(call.request))
    case 'get':
      return (await host.collection(call.database, call.collection).getMany(call.ids)).map(sentObject)
  }
}

async function matchesOf(
  replica: Replica,
  { header, filter }: Extract<OwnerCall, { kind: 'matches' }>,
): Promise<SharedMatches> {
  const conditions = parseFilter(filter)
  for (let over = replica.publishing; over; over = replica.publishing) await over
  const { version } = replica
  const { expired } = replica
  const { bitmap, count } = replica.matches.matchesOf(conditions, version, expired)
  const { fromMs = Number.NEGATIVE_INFINITY, untilMs = replica.expiry.first } = expired ?? {}
  return { header, version, words: bitmap.words, count, fromMs, untilMs }
}

function sentResult({ results, fused, groups, fusedGroups, ...report }: SearchResult): SentResult {
  return { ...report, ...mapHits({ results, fused, groups, fusedGroups }, sentHit) }
}

function sentHit(hit: SearchHit): SentHit {
  const { id, similarity, distance, norm, metaBytes, filterText, expiresAt, row, vector } = hit
  const { members, texts, highlight } = hit
  return {
    ...{ id, similarity, distance, norm, metaBytes, storedText: storedText(filterText, expiresAt) },
    row: row && vector ? { row, vector, norm } : undefined,
    members: members?.map(sentRow),
    texts,
    highlight,
  }
}

function sentObject({
  id,
  lsn,
  metaBytes,
  filterText,
  expiresAt,
  dense,
  sparse,
  multi,
  text,
}: StoredObject): SentObject {
  return {
    ...{ id, lsn, metaBytes, storedText: storedText(filterText, expiresAt), sparse, text },
    dense: mapValues(dense, sentRow),
    multi: mapValues(multi, (rows) => rows.map(sentRow)),
  }
}

/** Rows compute their vectors on access. */
function sentRow({ row, vector, norm }: DenseRow): DenseRow {
  return { row, vector, norm }
}

function mapValues<V, W>(values: { readonly [name: string]: V | undefined }, map: (value: V) => W): Record<string, W> {
  const entries = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, map(value)] as const],
  )
  return Object.fromEntries(entries)
}
