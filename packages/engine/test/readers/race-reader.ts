// A reader of race.test.ts: searches without pause, checks what it can check alone, and reports a sample.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { SearchRequest, SearchResult } from '@annal/engine'
import { attachReader, type HitBytes, type ReaderSearch } from '@annal/engine/reader'
import { createRandom } from '../vector/world.ts'
import { ownIndexOf, type SparseName, type SparseRecord, type Terms, termsOf, wordOf } from './race-terms.ts'
import {
  type GetRecord,
  limit,
  type ReaderReport,
  type Record,
  sharedWords,
  textLengthOf,
  vectorOf,
} from './race-world.ts'

const shared: Int32Array = workerData.shared
const random = createRandom(workerData.seed)
const reader = await attachReader(workerData.reader)
const whole = (below: number) => Math.floor(random() * below)

let records: Record[] = []
let gets: GetRecord[] = []
let sparse: SparseRecord[] = []
let sparseRan = 0
let sparseLeft = 0
let faults: string[] = []
let searches = 0
let left = 0
let batches = 0
let reads = 0
let grown = { searches: 0, found: 0, copies: 0 }

interface Copied {
  readonly lsn: number
  readonly hits: readonly {
    readonly id: string
    readonly meta: string
    readonly filter: string
    readonly similarity: number
  }[]
}

function copy(hits: HitBytes): Copied {
  const text = (bytes: number, into: (target: Uint8Array) => void) => {
    const target = Buffer.alloc(bytes)
    into(target)
    return target.toString()
  }
  return {
    lsn: hits.lsn,
    hits: Array.from({ length: hits.count }, (_, hit) => ({
      id: text(hits.idBytes(hit), (target) => hits.copyId(hit, target, 0)),
      meta: text(hits.metaBytes(hit), (target) => hits.copyMeta(hit, target, 0)),
      filter: text(hits.filterBytes(hit), (target) => hits.copyFilter(hit, target, 0)),
      similarity: hits.similarity(hit),
    })),
  }
}

async function searchThings(): Promise<void> {
  const object = whole(1 + whole(workerData.objectsMax))
  const stamp = 1 + whole(3)
  const third = whole(4) === 0 ? whole(3) : undefined
  const query = vectorOf(object, stamp)
  const acknowledged = Atomics.load(shared, sharedWords.acknowledged)
  const search: ReaderSearch = { field: 'v', query, limit, ef: 16 + whole(100) }
  const things = reader.collection('default', 'things')
  if (things === undefined) {
    faults.push('there is no collection things')
    return
  }
  const filter = third === undefined ? {} : { filter: [{ third: { $eq: third } }] }
  const found = await things.searchHere({ ...search, ...filter }, copy)
  searches++
  if (found === undefined) {
    left++
    return
  }
  if (found.lsn < acknowledged) faults.push(`LSN ${found.lsn} after ${acknowledged} was acknowledged`)
  const hits = found.hits.map(({ id, meta, filter: text, similarity }) => {
    const facts = JSON.parse(meta)
    if (id !== `thing-${facts.object}`) faults.push(`${id} has the meta ${meta}`)
    const distance = squaredDistance(query, vectorOf(facts.object, facts.stamp))
    if (Math.abs(distance + similarity) > 1e-4)
      faults.push(`${id} ${meta}: similarity ${similarity}, distance ${distance}`)
    return { object: facts.object, stamp: facts.stamp, serial: facts.serial, third: JSON.parse(text).third, similarity }
  })
  if (new Set(hits.map((hit) => hit.object)).size < hits.length) {
    const repeated: unknown[] = []
    for (let i = 0; i < 5; i++) {
      const next = await things.searchHere({ ...search, ...filter }, copy)
      repeated.push({ lsn: next?.lsn, hits: next?.hits.map(({ meta, similarity }) => [meta.slice(0, 60), similarity]) })
    }
    faults.push(
      `an object twice at LSN ${found.lsn} ef ${search.ef} third ${third}: ${JSON.stringify(hits)}\nthen ${JSON.stringify(repeated)}`,
    )
  }
  if (hits.some((hit, i) => hit.similarity > (hits[i - 1]?.similarity ?? 0))) faults.push('hits are out of order')
  if (searches % 8 === 0) records.push({ acknowledged, lsn: found.lsn, third, object, stamp, hits })
}

/** The collection that is deleted and created: hits are of one that was not deleted before, and the newest acknowledged object is there. */
async function searchTemporary(): Promise<void> {
  const deleted = Atomics.load(shared, sharedWords.deleted)
  const count = Atomics.load(shared, sharedWords.grown)
  const isSame = Atomics.load(shared, sharedWords.deleted) === deleted
  const query = vectorOf(count > 0 ? count - 1 : whole(50), 1)
  const found = await reader.collection('default', 'temporary')?.searchHere({ field: 'v', query, limit, ef: 100 }, copy)
  searches++
  const numbers = numbersIn(found)
  if (numbers.size > 1) faults.push(`hits of collections ${[...numbers]}`)
  for (const number of numbers)
    if (number <= deleted) faults.push(`collection ${number} was found after ${deleted} were deleted`)
  if (count === 0 || !isSame || !numbers.has(deleted + 1)) return
  grown.searches++
  grown.found += Number(found?.hits.some(({ id }) => id === `${count - 1}`))
}

/** What a backup restored and what a clone loaded: whole, of one collection, and nothing after it was deleted. */
async function searchCopy(): Promise<void> {
  const before = Atomics.load(shared, sharedWords.copies)
  const found = await reader
    .collection('default', 'copy')
    ?.searchHere({ field: 'v', query: vectorOf(whole(50), 1), limit, ef: 100 }, copy)
  const after = Atomics.load(shared, sharedWords.copies)
  searches++
  const numbers = numbersIn(found)
  if (numbers.size > 1) faults.push(`a copy has hits of collections ${[...numbers]}`)
  if (numbers.size > 0 && before === after && before % 2 === 0) faults.push('a copy was found after it was deleted')
  if (numbers.size > 0) grown.copies++
}

function numbersIn(found: Copied | undefined): Set<number> {
  const facts = found?.hits.map(({ id, meta }) => ({ id, ...JSON.parse(meta) })) ?? []
  for (const { id, object, text } of facts)
    if (id !== `${object}` || text.length !== textLengthOf(object)) faults.push(`${id} has the meta of ${object}`)
  return new Set(facts.map(({ number }) => number))
}

/** Several searches at once: all of one version, with whole objects, by vectors and by a stored object. */
async function searchBatch(): Promise<void> {
  const things = reader.collection('default', 'things')
  const objects = Array.from({ length: 1 + whole(3) }, () => whole(1 + whole(workerData.objectsMax)))
  const queries = objects.map((object) => ({
    object,
    stamp: 1 + whole(3),
    third: whole(3) === 0 ? whole(3) : undefined,
  }))
  const acknowledged = Atomics.load(shared, sharedWords.acknowledged)
  const requests: SearchRequest[] = queries.map(({ object, stamp, third }) => ({
    fields: { v: { query: vectorOf(object, stamp), limit, ef: 16 + whole(60) } },
    includeVectors: true,
    ...(third !== undefined && { filter: [{ third: { $eq: third } }] }),
  }))
  const stored = whole(3) === 0 ? `thing-${objects[0]}` : undefined
  if (stored !== undefined) requests.push({ fields: { v: { query: { id: stored }, limit } } })
  const results = await things?.searchBatchHere(requests, { bytesMax: 2 ** 20 })
  searches++
  if (results === undefined) {
    left++
    return
  }
  batches++
  const [first] = results
  if (first !== undefined && first.lsn < acknowledged)
    faults.push(`a batch of LSN ${first.lsn} after ${acknowledged} was acknowledged`)
  for (const [i, { lsn, results: lists }] of results.entries()) {
    if (lsn !== first?.lsn) faults.push(`a batch of the LSNs ${first?.lsn} and ${lsn}`)
    const query = queries[i]
    const hits = (lists.v ?? []).map(({ id, metaBytes, filterText, similarity, vector }) => {
      const facts = JSON.parse(Buffer.from(metaBytes).toString())
      if (id !== `thing-${facts.object}`) faults.push(`${id} has the meta of ${facts.object}`)
      if (id === stored && query === undefined) faults.push(`${id} is a hit of the search with its own vector`)
      const own = vectorOf(facts.object, facts.stamp)
      if (query && !own.every((x, j) => x === vector?.[j])) faults.push(`${id} has the vector of another object`)
      return {
        object: facts.object,
        stamp: facts.stamp,
        serial: facts.serial,
        third: JSON.parse(filterText).third,
        similarity,
      }
    })
    if (query && batches % 8 === 0) records.push({ acknowledged, lsn, ...query, hits })
  }
}

/** The collection that grows: its newest acknowledged object has an index that no other has, so it must be found. */
async function searchTermsOfTemporary(): Promise<void> {
  const deleted = Atomics.load(shared, sharedWords.deleted)
  const count = Atomics.load(shared, sharedWords.grown)
  const isSame = Atomics.load(shared, sharedWords.deleted) === deleted
  const temporary = reader.collection('default', 'temporary')
  if (count === 0 || temporary === undefined) return
  const field = whole(2) === 0 ? 'words' : 'texts'
  const query = { indices: [ownIndexOf(count - 1, 1)], values: [1] }
  const found = await temporary.searchBatchHere([{ fields: queryOf(field, query) }], { bytesMax: 2 ** 20 })
  searches++
  if (found === undefined) {
    sparseLeft++
    return
  }
  sparseRan++
  const hits = found[0]?.results[field] ?? []
  const facts = hits.map(({ id, meta }) => ({ id, number: meta?.number }))
  if (facts.some(({ id, number }) => id !== `${count - 1}` || Number(number) <= deleted))
    faults.push(`a search for object ${count - 1} after ${deleted} deletions found ${JSON.stringify(facts)}`)
  const isUnchanged =
    Atomics.load(shared, sharedWords.deleted) === deleted && Atomics.load(shared, sharedWords.grown) > 0
  if (isSame && isUnchanged && facts.length !== 1)
    faults.push(`object ${count - 1} of temporary was not found in ${field}`)
}

/** Texts are found by the words of the indices, each once, so values must be 1. */
function queryOf(field: SparseName, query: Terms): SearchRequest['fields'] {
  return { [field]: { query: field === 'texts' ? query.indices.map(wordOf).join(' ') : query, limit } }
}

/** Sparse searches, alone and fused with the vectors: similarities by all counts of the version. */
async function searchTerms(): Promise<void> {
  const [object, stamp] = [whole(1 + whole(workerData.objectsMax)), 1 + whole(3)]
  const field = (['words', 'rare', 'rare', 'texts', 'texts'] as const)[whole(5)] as SparseName
  const { indices, values } = termsOf(object, stamp)
  const all = { indices: [...indices, whole(40) + 40], values: [...values, 1] }
  const query = field === 'texts' ? { ...all, values: all.values.map(() => 1) } : all
  const third = whole(4) === 0 ? whole(3) : undefined
  const isHybrid = whole(3) === 0
  const acknowledged = Atomics.load(shared, sharedWords.acknowledged)
  const request: SearchRequest = {
    fields: { ...(isHybrid && { v: { query: vectorOf(object, stamp), limit } }), ...queryOf(field, query) },
    ...(isHybrid && { fusion: { method: 'rrf', limit } }),
    ...(third !== undefined && { filter: [{ third: { $eq: third } }] }),
  }
  const found = await findTerms(request, field, isHybrid || whole(2) === 0)
  searches++
  if (found === undefined) {
    sparseLeft++
    return
  }
  sparseRan++
  const { lsn, results, fused } = found
  if (lsn < acknowledged) faults.push(`a sparse search of LSN ${lsn} after ${acknowledged} was acknowledged`)
  const hits = found.hits.map(({ id, meta, filter, similarity }) => {
    const facts = JSON.parse(meta)
    if (id !== `thing-${facts.object}`) faults.push(`${id} has the meta of ${facts.object}`)
    if (third !== undefined && JSON.parse(filter).third !== third) faults.push(`${id} has the filter ${filter}`)
    return { object: facts.object, stamp: facts.stamp, similarity }
  })
  if (isHybrid) checkFused(results, fused ?? [])
  if (sparseRan % 8 === 0) sparse.push({ field, lsn, third, query, hits })
}

/** Words of one text field can be searched in two ways. */
async function findTerms(request: SearchRequest, field: SparseName, isBatch: boolean) {
  const things = reader.collection('default', 'things')
  if (field === 'texts' && !isBatch) {
    const query = request.fields.texts?.query as string
    const { filter } = request
    const found = await things?.searchHere({ field, query, limit, ...(filter && { filter }) }, copy)
    return found && { ...found, results: {}, fused: [] }
  }
  const [result] = (await things?.searchBatchHere([request], { bytesMax: 2 ** 20 })) ?? []
  if (result === undefined) return undefined
  const hits = (result.results[field] ?? []).map(({ id, metaBytes, filterText, similarity }) => ({
    ...{ id, similarity, filter: filterText },
    meta: Buffer.from(metaBytes).toString(),
  }))
  return { ...result, hits }
}

function checkFused(results: SearchResult['results'], fused: NonNullable<SearchResult['fused']>): void {
  const scores = new Map<string, number>()
  for (const hits of Object.values(results))
    for (const [i, { id }] of hits.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (61 + i))
  const best = [...scores].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, limit)
  const found = fused.map(({ hit, score }) => [hit.id, score])
  if (JSON.stringify(found) !== JSON.stringify(best))
    faults.push(`${JSON.stringify(found)} is not ${JSON.stringify(best)}`)
}

/** Reads by id: each object is whole, and one of a state during the read. */
async function getThings(): Promise<void> {
  const things = reader.collection('default', 'things')
  const objects = [...new Set(Array.from({ length: 1 + whole(4) }, () => whole(1 + whole(workerData.objectsMax))))]
  const from = Atomics.load(shared, sharedWords.acknowledged)
  const found = await things?.getHere(
    objects.map((object) => `thing-${object}`),
    { bytesMax: 2 ** 20 },
  )
  const to = Atomics.load(shared, sharedWords.acknowledged)
  if (found === undefined) return
  reads++
  const byObject = new Map(
    found.map(({ id, metaBytes, filterText, dense }) => {
      const { object, stamp, serial } = JSON.parse(Buffer.from(metaBytes).toString())
      if (id !== `thing-${object}`) faults.push(`${id} was read with the meta of ${object}`)
      const own = vectorOf(object, stamp)
      if (!own.every((x, j) => x === dense.v?.vector[j]))
        faults.push(`${id} was read with the vector of another object`)
      return [object, { stamp, serial, third: JSON.parse(filterText).third }] as const
    }),
  )
  for (const object of byObject.keys()) if (!objects.includes(object)) faults.push(`${object} was not wanted`)
  for (const object of objects) gets.push({ from, to, object, found: byObject.get(object) })
}

function squaredDistance(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)
}

function searchOne(draw: number): Promise<void> {
  if (draw === 0) return searchTemporary()
  if (draw === 2) return searchBatch()
  if (draw === 3) return getThings()
  if (draw === 4) return searchTermsOfTemporary()
  if (draw < 8) return searchTerms()
  return draw === 1 ? searchCopy() : searchThings()
}

function report(): void {
  const floor = Atomics.load(shared, sharedWords.acknowledged)
  parentPort?.postMessage({
    floor,
    records,
    gets,
    sparse,
    sparseRan,
    sparseLeft,
    faults,
    searches,
    left,
    batches,
    reads,
    grown,
  } satisfies ReaderReport)
  ;[records, gets, faults, searches, left] = [[], [], [], 0, 0]
  ;[sparse, sparseRan, sparseLeft] = [[], 0, 0]
  ;[batches, reads, grown] = [0, 0, { searches: 0, found: 0, copies: 0 }]
}

report()
while (Atomics.load(shared, sharedWords.stop) === 0) {
  try {
    for (let i = 0; i < 64; i++) await searchOne(whole(12))
  } catch (error) {
    faults.push(String((error as Error).stack))
  }
  if (searches >= 1024 || faults.length > 0) report()
  await nextTurn()
}
report()
process.exit()
