// Searches of a dense field by the original vectors on disk: rescores the candidates that codes in memory found, or compares every match.
// Similarities are computed in double precision.
import { TimeSlice } from '@annal/wal'
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
export function isRescored(
  { definition }: Pick<DenseTask, 'definition'>,
  { rescore }: Pick<SearchPlanInput, 'rescore'>,
): boolean {
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

/** The best k of the ordinals by their vectors on disk; ties are ordered by ordinal. */
async function rankByOriginals(
  ordinals: Uint32Array,
  originals: Originals,
  { k, scoreThreshold, definition }: DenseTask,
  query: Float32Array,
): Promise<Best> {
  const ranking = new Ranking(k, scoreThreshold)
  const { dimension, spaceType } = definition.params
  for await (const rows of readOriginals(ordinals, originals, dimension)) {
    for (const { ordinal, vector } of rows) ranking.offer(ordinal, maxSim(query, vector, dimension, spaceType))
  }
  return ranking.best()
}

/** The best k of the ordinals for each query. Reads each vector once. */
export async function rankEachByOriginals(
  ordinals: Uint32Array,
  originals: Originals,
  { k, definition }: Pick<DenseTask, 'k' | 'definition'>,
  queries: readonly Float32Array[],
): Promise<Best[]> {
  const rankings = queries.map((query) => ({ query, ranking: new Ranking(k) }))
  const { dimension, spaceType } = definition.params
  const slice = new TimeSlice()
  for await (const rows of readOriginals(ordinals, originals, dimension)) {
    for (const { query, ranking } of rankings) {
      for (const { ordinal, vector } of rows) ranking.offer(ordinal, maxSim(query, vector, dimension, spaceType))
      await slice.renewIfOver()
    }
  }
  return rankings.map(({ ranking }) => ranking.best())
}

interface OriginalRow {
  readonly ordinal: number
  readonly vector: Float32Array
}

async function* readOriginals(
  ordinals: Uint32Array,
  originals: Originals,
  dimension: number,
): AsyncGenerator<readonly OriginalRow[], void, void> {
  const atOnce = Math.max(16, Math.floor(readBytesMax / 4 / dimension))
  const readFrom = async (from: number): Promise<OriginalRow[]> => {
    const some = ordinals.subarray(from, from + atOnce)
    const rows = await originals.readGiven([...some])
    return rows.map((row, i) => {
      const ordinal = some[i] as number
      assert(row, `ordinal ${ordinal} has an original`)
      return { ordinal, vector: row.vector }
    })
  }
  // The next vectors are read while these are compared.
  let nextRows = readFrom(0)
  for (let from = 0; from < ordinals.length; from += atOnce) {
    const rows = await nextRows
    nextRows = readFrom(from + atOnce)
    // Prevents an unhandled rejection if this iteration throws.
    nextRows.catch(() => undefined)
    yield rows
  }
}

interface Scored {
  readonly ordinal: number
  readonly similarity: number
}

type Best = Pick<DenseHits, 'ordinals' | 'similarities'>

/** Keeps the k most similar rows; ties are ordered by ordinal. */
class Ranking {
  readonly #k: number
  #kept: Scored[] = []
  #least: number

  constructor(k: number, scoreThreshold = Number.NEGATIVE_INFINITY) {
    this.#k = k
    this.#least = scoreThreshold
  }

  offer(ordinal: number, similarity: number): void {
    if (!(similarity >= this.#least)) return
    this.#kept.push({ ordinal, similarity })
    if (this.#kept.length >= this.#k + Math.max(256, this.#k)) this.#cut()
  }

  best(): Best {
    this.#cut()
    return {
      ordinals: Uint32Array.from(this.#kept, ({ ordinal }) => ordinal),
      similarities: Float32Array.from(this.#kept, ({ similarity }) => similarity),
    }
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
    this.#kept.length = Math.min(this.#kept.length, this.#k)
    if (this.#kept.length === this.#k) this.#least = Math.max(this.#least, (this.#kept.at(-1) as Scored).similarity)
  }
}
