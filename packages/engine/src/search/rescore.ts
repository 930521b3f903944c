// Searches of a dense field by the original vectors on disk: rescores the candidates that codes in memory found, or compares every match.
// Similarities are computed in double precision.
import { assert } from '../errors.ts'
import type { Precision } from '../model/schema.ts'
import type { Originals } from '../replica/originals.ts'
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import type { DenseField, DenseHits } from '../vector/field.ts'
import { maxSim } from './max-sim.ts'
import type { DenseTask, SearchPlanInput } from './request.ts'
import { type FieldAnswer, missingVectorError, ordinalOf, type RunContext, runField } from './run-field.ts'

/** Bytes of vectors read at a time. Limits memory, and the time that other readers wait. */
const readBytesMax = 2 ** 20

/** Whether the search rescores. Binary fields do by default, because signs alone order too coarsely. */
export function isRescored({ definition }: DenseTask, { rescore }: Pick<SearchPlanInput, 'rescore'>): boolean {
  return rescore ?? definition.params.precision === 'binary'
}

/**
 * Number of candidates, in the order of codes, that contain the true best k. For binary codes, 128 contain 0.98 of the best ten on 100,000
 * rows of 128 dimensions and more elsewhere (benchmarks/results/binary.md). Each candidate is one read from disk.
 */
export function candidatesFor(k: number, precision: Precision): number {
  return precision === 'binary' ? Math.max(128, 4 * k) : Math.max(48, 2 * k)
}

/**
 * Finds candidates with `runField` and orders them by their original vectors. Throws object_not_found or invalid_argument if the query is a
 * stored object without a vector in the field.
 */
export async function runRescored(task: DenseTask, originals: Originals, context: RunContext): Promise<FieldAnswer> {
  const { precision } = task.definition.params
  const own = ownOrdinal(task, context)
  const query = task.source.kind === 'vector' ? task.source.query : await originals.read(own as number)
  const candidates = Math.min(walkEntriesMax, candidatesFor(task.k, precision) + (own === undefined ? 0 : 1))
  const answer = await runField(
    {
      ...task,
      k: candidates,
      ef: Math.max(task.ef, candidates),
      scoreThreshold: undefined,
      source: { kind: 'vector', query },
    },
    context,
  )
  const started = performance.now()
  const ordinals = answer.found.ordinals.filter((ordinal) => ordinal !== own)
  const best = await rankByOriginals(ordinals, originals, task, query)
  const ms = answer.explanation.ms + performance.now() - started
  const rescored = ordinals.length
  return { ...answer, found: { ...answer.found, ...best }, explanation: { ...answer.explanation, rescored, ms } }
}

/** Searches exactly by the original vectors of all matches; approximate results are measured against this. */
export async function compareOriginals(
  task: DenseTask,
  originals: Originals,
  context: RunContext,
): Promise<FieldAnswer> {
  const started = performance.now()
  const own = ownOrdinal(task, context)
  const ordinals = matchesOf(task, context).filter((ordinal) => ordinal !== own)
  const query = task.source.kind === 'vector' ? task.source.query : await originals.read(own as number)
  const best = await rankByOriginals(ordinals, originals, task, query)
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
  const own = ordinalOf(replica, task.source.id)
  if (!(replica.dense[task.fieldIndex] as DenseField).has(own, version)) throw missingVectorError(task)
  return own
}

/** Ordinals that match and have a vector in the field, as of now. */
function matchesOf(task: DenseTask, { replica, version, matches }: RunContext): Uint32Array {
  const field = replica.dense[task.fieldIndex] as DenseField
  const { bitmap } = matches ?? replica.filters.evaluate([])
  return bitmap.toOrdinals().filter((ordinal) => field.has(ordinal, version))
}

interface Scored {
  readonly ordinal: number
  readonly similarity: number
}

/** The best k of the ordinals by their vectors on disk; ties are ordered by ordinal. */
async function rankByOriginals(
  ordinals: Uint32Array,
  originals: Originals,
  { k, scoreThreshold = Number.NEGATIVE_INFINITY, definition }: DenseTask,
  query: Float32Array,
): Promise<Pick<DenseHits, 'ordinals' | 'similarities'>> {
  const { dimension, spaceType } = definition.params
  const atOnce = Math.max(16, Math.floor(readBytesMax / 4 / dimension))
  const readFrom = (from: number) => originals.readGiven([...ordinals.subarray(from, from + atOnce)])
  let best: Scored[] = []
  let threshold = scoreThreshold
  // The next vectors are read while these are compared.
  let nextRows = readFrom(0)
  for (let from = 0; from < ordinals.length; from += atOnce) {
    const rows = await nextRows
    nextRows = readFrom(from + atOnce)
    // Prevents an unhandled rejection if this iteration throws.
    nextRows.catch(() => undefined)
    for (const [i, row] of rows.entries()) {
      const ordinal = ordinals[from + i] as number
      assert(row, `ordinal ${ordinal} has an original`)
      const similarity = maxSim(query, row.vector, dimension, spaceType)
      if (similarity >= threshold) best.push({ ordinal, similarity })
    }
    if (best.length < 2 * k) continue
    best = sortByScore(best).slice(0, k)
    threshold = Math.max(threshold, (best.at(-1) as Scored).similarity)
  }
  best = sortByScore(best).slice(0, k)
  return {
    ordinals: Uint32Array.from(best, ({ ordinal }) => ordinal),
    similarities: Float32Array.from(best, ({ similarity }) => similarity),
  }
}

function sortByScore(scored: Scored[]): Scored[] {
  return scored.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
}
