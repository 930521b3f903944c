// Finds the hits of a search of one dense field in shared memory, by the plan of the owner's own searches.
import { efDefault } from '../defaults.ts'
import {
  cosineLengthMax,
  efMax,
  filterBoostMax,
  lengthMax,
  prefilterThresholdMax,
  prefilterThresholdMin,
  recallTargetMax,
  recallTargetMin,
} from '../limits.ts'
import { Bitmap } from '../memory/bitmap.ts'
import { isCoarse } from '../model/choices.ts'
import type { ReaderSearch } from '../model/reader.ts'
import type { DenseFieldSchema } from '../model/schema.ts'
import { lengthOf, scaleToUnit } from '../model/vector-form.ts'
import { type DensePlan, planDense } from '../search/plan.ts'
import { clampSimilarity, type SimilarityRange, similarityRangeOf } from '../search/similarity-range.ts'
import type { SharedMatches } from '../sharing/messages.ts'
import { mergeHits } from '../vector/dense/merge-hits.ts'
import type { DenseHits } from '../vector/field.ts'
import type { Found } from '../vector/pool.ts'
import type { HitBuffer } from './hit-buffer.ts'
import type { RanSearch } from './query-reports.ts'
import type { ReaderSegment } from './reader-arena.ts'
import type { ReplicaView } from './replica-view.ts'

/**
 * More work would keep the other work of the thread waiting; the owner has threads for it. In components of vectors: entries of the pool
 * of a walk, rows compared by code, and rows compared at the precision of the field, each times the dimension.
 */
const walkedMax = 2 ** 21
const comparedMax = 2 ** 25
const scannedMax = 2 ** 22

/** The pinned state that is searched. */
export interface SearchedState {
  readonly view: ReplicaView
  readonly version: number
  /** The matches of the filter as of the version; undefined without a filter. */
  readonly matches: SharedMatches | undefined
}

/** Which hits are returned, and how. */
interface Kept {
  readonly scoreThreshold: number
  /** To which estimates are clamped. */
  readonly range: SimilarityRange
}

/** A checked search of one field of the state. */
export interface GraphSearch extends Kept {
  /** Position of the field in the definition. */
  readonly fieldIndex: number
  readonly params: Pick<DenseFieldSchema['params'], 'dimension' | 'spaceType'>
  /** As rows are compared with it. */
  readonly query: Float32Array
  readonly k: number
  /** At least k. */
  readonly ef: number
  readonly exact: boolean
  readonly boostPercentage: number
  readonly prefilterThreshold: number | undefined
}

/** What the thread may still do before its other work: 1 is the most for one turn. */
export interface Work {
  left: number
}

/** Where the hits come from. */
interface Run extends SearchedState {
  readonly segments: readonly ReaderSegment[]
  readonly segmentRows: number
  readonly query: Float32Array
  readonly k: number
}

/** Takes the work of one search. */
const one: Work = { left: 1 }

/**
 * Puts the hits into the buffer. False: only the owner can run the search, or refuse it. A search whose ef is chosen becomes `ran`, for the
 * sample of the owner.
 */
export function findHits(
  state: SearchedState & { readonly topKMax: number },
  search: ReaderSearch,
  hits: HitBuffer,
  ran: { search: RanSearch | undefined },
): boolean {
  const { definition, fields } = state.view.facts
  const index = definition.fields.findIndex(({ name }) => name === search.field)
  const [field, shared] = [definition.fields[index], fields[index]]
  if (field?.kind !== 'dense' || shared === undefined || !isInRange(search, state.topKMax)) return false
  const { precision } = field.params
  const { exact = false, boostPercentage = 0, prefilterThreshold, scoreThreshold = Number.NEGATIVE_INFINITY } = search
  // These compare original vectors, which are on disk.
  if (shared.hasOriginals && (exact || isCoarse(precision))) return false
  const query = typeof search.query === 'string' ? undefined : comparedQuery(search.query, field)
  if (query === undefined) return false
  const target = search.ef === undefined && !exact ? (search.recall ?? field.params.recall) : undefined
  const kind = { fieldIndex: index, k: search.limit, rescore: isCoarse(precision) }
  const recall =
    target === undefined ? undefined : state.view.chooseEf({ ...kind, target, matches: state.matches?.count })
  ran.search = recall && { ...kind, query }
  const ef = recall?.ef ?? search.ef ?? efDefault
  one.left = 1
  const isFound = findRows(
    state,
    {
      ...{ fieldIndex: index, params: field.params, query, exact, boostPercentage, prefilterThreshold, scoreThreshold },
      ...{ k: search.limit, ef: Math.max(ef, search.limit), range: similarityRangeOf(field.params) },
    },
    one,
    hits,
  )
  hits.recall = recall
  // Original vectors must be compared, which are on disk.
  return isFound && !(hits.isUnresolved && shared.hasOriginals)
}

/** Puts the hits of a checked search into the buffer. False: the search takes more work than there is. */
export function findRows(state: SearchedState, search: GraphSearch, work: Work, hits: HitBuffer): boolean {
  const { view, version, matches } = state
  const { fieldIndex, params, query, k, ef, scoreThreshold, range } = search
  const { dimension, spaceType } = params
  const rows = view.words.pinnedRows(fieldIndex)
  const plan = planRows(state, search)
  hits.begin({ lsn: view.words.pinnedLsn, isCosine: spaceType === 'cosine' })
  if (plan.kind === 'nothing') return true
  const segmentRows = view.facts.fields[fieldIndex]?.segmentRows ?? 0
  const run: Run = { view, version, matches, segments: view.segments(fieldIndex), segmentRows, query, k }
  const compared = matches?.count ?? rows
  if (plan.kind !== 'scan') {
    const isWalk = plan.kind === 'walk'
    const graph = { ef: plan.ef ?? ef, ...(!isWalk && { compared }) }
    if (!takeWork(work, shareOf(plan, { ef, compared, dimension }))) return false
    // A walk can find fewer rows than there are. Then every match is compared, as in a scan.
    const enough = isWalk ? Math.min(k, compared, rows) : 0
    if (searchGraph(run, graph, { enough, scoreThreshold, range }, hits)) return true
  }
  if (!takeWork(work, (compared * dimension) / scannedMax)) return false
  hits.isUnresolved = false
  putHits(run, scan(run), { scoreThreshold, range }, hits)
  return true
}

/** The search takes at least this share of the work of a turn. More, if a walk finds too few rows. */
export function leastWork(
  state: Omit<SearchedState, 'version'>,
  search: Omit<GraphSearch, 'query' | 'k' | keyof Kept>,
): number {
  const compared = state.matches?.count ?? state.view.words.pinnedRows(search.fieldIndex)
  return shareOf(planRows(state, search), { ef: search.ef, compared, dimension: search.params.dimension })
}

function planRows(
  { view, matches }: Omit<SearchedState, 'version'>,
  search: Omit<GraphSearch, 'query' | 'k' | keyof Kept>,
): DensePlan {
  const { fieldIndex, ef, boostPercentage, prefilterThreshold, exact } = search
  const rows = view.words.pinnedRows(fieldIndex)
  return planDense({ rows, matches: matches?.count, ef, boostPercentage, prefilterThreshold, exact })
}

function shareOf(
  plan: DensePlan,
  { ef, compared, dimension }: { readonly ef: number; readonly compared: number; readonly dimension: number },
): number {
  if (plan.kind === 'nothing') return 0
  if (plan.kind === 'walk') return ((plan.ef ?? ef) * dimension) / walkedMax
  return (compared * dimension) / (plan.kind === 'scan' ? scannedMax : comparedMax)
}

/** Takes a share of the work. False: there is not so much. */
export function takeWork(work: Work, share: number): boolean {
  work.left -= share
  return work.left >= 0
}

/** Puts the hits of walks or comparisons into the buffer. False, without a hit in it: there are fewer than `enough`. */
function searchGraph(
  run: Run,
  { ef, compared }: { readonly ef: number; readonly compared?: number },
  { enough, scoreThreshold, range }: Kept & { readonly enough: number },
  hits: HitBuffer,
): boolean {
  const { k, version, query, matches, segments, segmentRows } = run
  const options = { k, ef, version, ...(compared !== undefined && { compared }) }
  const only = segments.length === 1 ? segments[0] : undefined
  if (only !== undefined) {
    const { arena, isCutOff } = only
    const count = arena.find(query, { ...options, isCutOff }, matches?.words)
    hits.isUnresolved = arena.isUnresolved
    if (count < enough) return false
    for (let hit = 0; hit < count; hit++) {
      const similarity = clampSimilarity(arena.similarityAt(hit), range)
      if (similarity < scoreThreshold) continue
      const ordinal = arena.ordinalAt(hit)
      hits.add(ordinal, similarity, arena.norm(ordinal))
    }
    return true
  }
  const found = eachSegment(run, ({ arena, isCutOff }, i) => {
    const allowed = matches && wordsOfSegment(matches.words, i, segmentRows)
    return arena.search(query, { ...options, isCutOff }, allowed)
  })
  hits.isUnresolved = found.isUnresolved === true
  if (found.ordinals.length < enough) return false
  putHits(run, found, { scoreThreshold, range }, hits)
  return true
}

/** Compares all matches, or all rows. */
function scan(run: Run): DenseHits {
  const { matches, segmentRows, query } = run
  if (matches === undefined) return eachSegment(run, ({ arena }) => arena.scan(query, run))
  const ordinals = Bitmap.over(matches.words, matches.count).toOrdinals()
  return eachSegment(run, ({ arena }, i) => {
    const first = i * segmentRows
    const listed = ordinals.filter((ordinal) => ordinal >= first && ordinal < first + segmentRows)
    return arena.scan(
      query,
      run,
      listed.map((ordinal) => ordinal - first),
    )
  })
}

function eachSegment(
  { segments, k, segmentRows }: Run,
  find: (segment: ReaderSegment, index: number) => Found,
): DenseHits {
  const found = segments.map((segment, i) => ({ segment: i, ...find(segment, i) }))
  return mergeHits(found, k, segmentRows)
}

/** The part of the bitmap for a segment, starting at its first ordinal. */
function wordsOfSegment(words: Uint32Array, segment: number, segmentRows: number): Uint32Array {
  return segment === 0 ? words : words.subarray(Math.min(words.length, (segment * segmentRows) / 32))
}

function putHits(
  { segments, segmentRows }: Run,
  found: DenseHits,
  { scoreThreshold, range }: Kept,
  hits: HitBuffer,
): void {
  for (const [i, ordinal] of found.ordinals.entries()) {
    const similarity = clampSimilarity(found.similarities[i] as number, range)
    if (similarity < scoreThreshold) continue
    const segment = segments[Math.floor(ordinal / segmentRows)] as ReaderSegment
    hits.add(ordinal, similarity, segment.arena.norm(ordinal % segmentRows))
  }
}

/** The query as rows are compared with it. Undefined: it is not one of this field. */
function comparedQuery(query: Float32Array, { params }: DenseFieldSchema): Float32Array | undefined {
  if (query.length !== params.dimension) return undefined
  const length = lengthOf(query)
  const isCosine = params.spaceType === 'cosine'
  // False also for vectors with components that are not finite.
  if (!(length <= (isCosine ? cosineLengthMax : lengthMax))) return undefined
  if (!isCosine) return query
  const unit = query.slice()
  scaleToUnit(query, length, unit, 0)
  return unit
}

/** Whether the numbers of a search are within their limits. */
export function isInRange(search: ReaderSearch, topKMax: number): boolean {
  const { limit, ef = efDefault, recall, boostPercentage = 0 } = search
  const { prefilterThreshold = prefilterThresholdMin, scoreThreshold = 0 } = search
  return (
    isWithin(limit, 1, topKMax) &&
    isWithin(ef, 1, efMax) &&
    (recall === undefined || (search.ef === undefined && isWithin(recall, recallTargetMin, recallTargetMax))) &&
    Number.isInteger(limit) &&
    Number.isInteger(ef) &&
    isWithin(boostPercentage, 0, filterBoostMax) &&
    isWithin(prefilterThreshold, prefilterThresholdMin, prefilterThresholdMax) &&
    Number.isFinite(scoreThreshold)
  )
}

function isWithin(value: number, from: number, to: number): boolean {
  return value >= from && value <= to
}
