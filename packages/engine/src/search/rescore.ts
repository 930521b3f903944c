// Searches of a dense field by the original vectors on disk: rescores the candidates that codes in memory found, or compares every match.
// Similarities are computed in double precision.
import { isCoarse } from '../model/choices.ts'
import type { Precision } from '../model/schema.ts'
import type { ReadableField, ReadableOriginals } from '../replica/readable.ts'
import { comparerOf } from '../vector/dense/original-comparer.ts'
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import { type FieldAnswer, missingVectorError, ordinalOf, type RunContext } from './field-run.ts'
import { rankCandidates } from './rank-candidates.ts'
import { rankOriginals, vectorsOf } from './rank-originals.ts'
import type { Best } from './ranking.ts'
import type { DenseTask, SearchPlanInput } from './request.ts'
import { estimateField, runField } from './run-field.ts'

/** Whether the search rescores. Fields of few bits do by default, because their codes alone order too coarsely. */
export function isRescored(
  { definition }: Pick<DenseTask, 'definition'>,
  { rescore }: Pick<SearchPlanInput, 'rescore'>,
): boolean {
  return rescore ?? isCoarse(definition.params.precision)
}

/**
 * Number of candidates of a search: those that the walk keeps, at most as many as contain the true best k, and at least as many as the
 * codes of the precision need to contain most of them. Each candidate that may be among the best is one read from disk.
 */
export function candidatesFor(k: number, ef: number, precision: Precision): number {
  return Math.max(efLeastFor(k, precision), Math.min(ef, candidatesMaxFor(k, precision)))
}

/**
 * Number of candidates, in the order of codes, that contain the true best k. For binary codes, 128 contain 0.98 of the best ten on 100,000
 * rows of 128 dimensions and more elsewhere (benchmarks/results/binary.md); for codes of 2 bits 48, and for codes of 4 bits 24 contain all
 * on sets of 256 dimensions and more (benchmarks/results/ceilings.md).
 */
export function candidatesMaxFor(k: number, precision: Precision): number {
  const { most, mostEach } = candidates[precision] ?? otherCandidates
  return Math.max(most, Math.ceil(mostEach * k))
}

/** The least ef with which a rescored search walks: fewer candidates would not contain the best k, whatever the walk finds. */
export function efLeastFor(k: number, precision: Precision): number {
  const { leastEach } = candidates[precision] ?? otherCandidates
  return Math.ceil(leastEach * k)
}

interface Candidates {
  readonly most: number
  readonly mostEach: number
  readonly leastEach: number
}

const otherCandidates: Candidates = { most: 16, mostEach: 1.6, leastEach: 1 }
const candidates: Partial<Record<Precision, Candidates>> = {
  binary: { most: 128, mostEach: 4, leastEach: 2 },
  int2: { most: 48, mostEach: 3, leastEach: 1.2 },
  int4: { most: 24, mostEach: 2, leastEach: 1 },
}

/**
 * Number of candidates of the repetition of an unresolved search. Most clusters have fewer rows, and a field of up to 28,000 rows is compared as a
 * whole at this ef (plan.ts), so links that codes misled miss nothing (docs/lab/2026-11-29-unseen-sets.md).
 */
export const unresolvedCandidates = 2_048

/**
 * Finds candidates by codes and orders them by their original vectors. If the codes order the candidates at random, there are more of them.
 * Throws object_not_found or invalid_argument if the query is a stored object without a vector in the field.
 */
export async function runRescored(
  task: DenseTask,
  originals: ReadableOriginals,
  context: RunContext,
): Promise<FieldAnswer> {
  const own = ownOrdinal(task, context)
  const search = { own, query: await queryOf(task, originals, own) }
  const wanted = candidatesFor(task.k, task.ef, task.definition.params.precision)
  const { answer, wantedForCopies } = await rescore(task, originals, context, { ...search, wanted })
  const isUnresolved = answer.found.isUnresolved === true
  const more = Math.min(unresolvedCandidates, isUnresolved ? unresolvedCandidates : wantedForCopies)
  if (more <= wanted) return answer
  const repeated = await rescore(task, originals, context, { ...search, wanted: more })
  return addCosts(repeated.answer, answer, isUnresolved ? unresolvedReason : copiesReason)
}

/**
 * Orders by the rows in memory, unless they are so near to each other that these order them at random and the request does not rule out
 * rescoring. Throws as `runRescored`.
 */
export async function runByRows(
  task: DenseTask,
  originals: ReadableOriginals,
  context: RunContext,
): Promise<FieldAnswer> {
  // The id may belong to another ordinal after a wait.
  const own = ownOrdinal(task, context)
  const answer = await runField(task, context)
  if (context.input.rescore === false || answer.found.isUnresolved !== true || task.k >= unresolvedCandidates)
    return answer
  const query = await queryOf(task, originals, own)
  const repeated = await rescore(task, originals, context, { own, query, wanted: unresolvedCandidates })
  return addCosts(repeated.answer, answer)
}

function queryOf(
  { source }: DenseTask,
  originals: ReadableOriginals,
  own: number | undefined,
): Float32Array | Promise<Float32Array> {
  return source.kind === 'vector' ? source.query : originals.read(own as number)
}

interface Rescored {
  readonly own: number | undefined
  readonly query: Float32Array
  /** Number of candidates besides the object whose vector is the query. */
  readonly wanted: number
}

/** `isUnresolved` of the answer, and more candidates than `wanted` for copies, tell that more of them may contain nearer rows. */
async function rescore(
  task: DenseTask,
  originals: ReadableOriginals,
  context: RunContext,
  { own, query, wanted: others }: Rescored,
): Promise<{ readonly answer: FieldAnswer; readonly wantedForCopies: number }> {
  const wanted = Math.min(walkEntriesMax, others + (own === undefined ? 0 : 1))
  const answer = await estimateField(
    {
      ...task,
      k: wanted,
      ef: Math.max(task.ef, wanted),
      scoreThreshold: undefined,
      source: { kind: 'vector', query },
    },
    context,
  )
  const started = performance.now()
  const comparer = comparerOf((context.replica.dense[task.fieldIndex] as ReadableField).kernel)
  const ranked = rankCandidates(
    withoutOwn(answer.found, own),
    originals,
    { ...task, caller: context.room },
    query,
    comparer,
  )
  const { compared: rescored, wantedForCopies, ...best } = await ranked
  const isAll = answer.found.ordinals.length < wanted
  const isUnresolved = (best.isUnresolved || answer.found.isUnresolved === true) && !isAll
  const ms = answer.explanation.ms + performance.now() - started
  const found = { ...answer.found, ...best, isUnresolved }
  const explanation = { ...answer.explanation, rescored, ms }
  return { answer: { ...answer, found, explanation }, wantedForCopies: isAll ? 0 : wantedForCopies }
}

/** The answer with the costs of the one before it, which was not sufficient for the reason. */
export function addCosts(answer: FieldAnswer, before: FieldAnswer, why = unresolvedReason): FieldAnswer {
  const [own, other] = [answer.explanation, before.explanation]
  const visited = own.visited + other.visited
  const distances = own.distances + other.distances
  const rescored = (own.rescored ?? 0) + (other.rescored ?? 0)
  const reason = `${own.reason}${why}`
  return {
    ...answer,
    found: { ...answer.found, visited, distances },
    explanation: { ...own, visited, distances, rescored, ms: own.ms + other.ms, reason },
  }
}

const unresolvedReason = '; rows differ by less than the errors of their codes, so more original vectors were compared'
const copiesReason = '; copies took the places of other candidates, so more candidates were found'

/** The candidates without the object whose vector is the query. */
export function withoutOwn({ ordinals, similarities }: Best, own: number | undefined): Best {
  const index = own === undefined ? -1 : ordinals.indexOf(own)
  if (index < 0) return { ordinals, similarities }
  return { ordinals: ordinals.filter((_, i) => i !== index), similarities: similarities.filter((_, i) => i !== index) }
}

/** Searches exactly by the original vectors of all matches; approximate results are measured against this. */
export async function compareOriginals(
  task: DenseTask,
  originals: ReadableOriginals,
  context: RunContext,
): Promise<FieldAnswer> {
  const started = performance.now()
  const own = ownOrdinal(task, context)
  const ordinals = matchesOf(task, context).filter((ordinal) => ordinal !== own)
  const query = task.source.kind === 'vector' ? task.source.query : await originals.read(own as number)
  const source = vectorsOf(originals, task.definition.params.dimension)
  const best = await rankOriginals(ordinals, source, { ...task, caller: context.room }, query)
  const compared = ordinals.length
  return {
    found: { ...best, visited: 0, distances: compared },
    complete: true,
    explanation: {
      plan: 'scan',
      reason: 'exact was requested',
      visited: 0,
      distances: compared,
      rescored: compared,
      ms: performance.now() - started,
    },
  }
}

/**
 * Ordinal of the object whose vector is the query. Looked up before waiting: the id may belong to another ordinal later, while the ordinal
 * is pinned.
 */
function ownOrdinal(task: DenseTask, { replica, version }: RunContext): number | undefined {
  if (task.source.kind === 'vector') return undefined
  const own = ordinalOf(replica, task.source.id, task.definition.name)
  if (!(replica.dense[task.fieldIndex] as ReadableField).has(own, version)) throw missingVectorError(task)
  return own
}

/** Ordinals that match and have a vector in the field, as of now. */
function matchesOf(task: DenseTask, { replica, version, matches }: RunContext): Uint32Array {
  const field = replica.dense[task.fieldIndex] as ReadableField
  const { bitmap } = matches ?? replica.filters.evaluate([])
  return bitmap.toOrdinals().filter((ordinal) => field.has(ordinal, version))
}
