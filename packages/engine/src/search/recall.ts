// Measures the recall of a dense field: searches for stored vectors with default settings and compares the results with exact ones. For
// fields that are rescored by default, the exact results are those of the original vectors on disk, for others those of the rows in memory.

import { efDefault, recallSampleDefault, topKDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import type { FilterMatches } from '../filter/filter-index.ts'
import { efMax, type Limits, recallSampleMax } from '../limits.ts'
import { checkObject, printed } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { RecallReport, RecallRequest } from '../model/reads.ts'
import { type CollectionSchema, hasLists } from '../model/schema.ts'
import type { ReadableField, ReadableOriginals, ReadableReplica } from '../replica/readable.ts'
import type { DenseHits } from '../vector/field.ts'
import type { RunContext } from './field-run.ts'
import { planDense } from './plan.ts'
import { rankOriginalsOfEach, vectorsOf } from './rank-originals.ts'
import { type DenseTask, plainSearch } from './request.ts'
import { isRescored, runRescored } from './rescore.ts'

/** A checked request to measure recall. */
export interface RecallInput {
  readonly fieldIndex: number
  readonly field: string
  readonly sample: number
  readonly k: number
  readonly ef: number
}

/** Throws invalid_argument, limit_exceeded or field_not_found. */
export function parseRecall(request: RecallRequest, definition: CollectionSchema, limits: Limits): RecallInput {
  checkObject(request, 'request')
  const fieldIndex = definition.fields.findIndex(
    (field) => !hasLists(field) && (request.field === undefined || field.name === request.field),
  )
  const field = definition.fields[fieldIndex]
  if (field === undefined) {
    const message = `the collection has no field with a graph ${request.field === undefined ? '' : printed(request.field)}`
    throw new EngineError('field_not_found', message.trim(), { field: 'field', value: request.field })
  }
  const k = wholeNumber(request.limit ?? topKDefault, 'limit', 1, limits.topKMax)
  return {
    fieldIndex: fieldIndex,
    field: field.name,
    sample: wholeNumber(request.sample ?? recallSampleDefault, 'sample', 1, recallSampleMax),
    k,
    ef: Math.max(k, wholeNumber(request.ef ?? efDefault, 'ef', 1, efMax)),
  }
}

/**
 * Searches for up to `sample` stored vectors and compares the results with exact search, as of one version. Recall is 1 for a field without
 * rows.
 */
export async function measureRecall(replica: ReadableReplica, input: RecallInput): Promise<RecallReport> {
  replica.publish()
  const { expired } = replica
  const { version, lsnApplied } = replica
  const release = replica.pins.pin(version)
  try {
    const field = replica.dense[input.fieldIndex] as ReadableField
    const visible = replica.filters.evaluate([])
    const all = visible.bitmap.toOrdinals()
    const matches = expired && visible
    const sampled = sampleEvenly(all, input.sample).filter((ordinal) => field.has(ordinal, version))
    const { originals, task } = rescoredTask(replica, input) ?? {}
    const recalls =
      originals === undefined || task === undefined
        ? await compareWithRows(replica, { version, sampled, input, matches })
        : await compareWithOriginals(replica, { version, sampled, originals, task, all, matches })
    const mean = recalls.reduce((sum, recall) => sum + recall, 0) / Math.max(1, recalls.length)
    return {
      field: input.field,
      sample: recalls.length,
      recall: recalls.length === 0 ? 1 : mean,
      recallWorst: Math.min(1, ...recalls),
      lsn: lsnApplied,
    }
  } finally {
    release()
  }
}

type DenseTaskWithoutSource = Omit<DenseTask, 'source'>

/** The search to measure if a search with default settings rescores. */
function rescoredTask(
  replica: ReadableReplica,
  { fieldIndex, k, ef }: RecallInput,
): { readonly originals: ReadableOriginals; readonly task: DenseTaskWithoutSource } | undefined {
  const definition = replica.definition.fields[fieldIndex]
  const originals = replica.originals[fieldIndex]
  if (definition?.kind !== 'dense' || originals === undefined || originals.owner.isPartial) return undefined
  const task: DenseTaskWithoutSource = { kind: 'dense', fieldIndex, definition, k, ef, scoreThreshold: undefined }
  return isRescored(task, { rescore: undefined }) ? { originals, task } : undefined
}

interface Sampled {
  readonly version: number
  readonly sampled: readonly number[]
  /** Undefined: no object has expired. */
  readonly matches: FilterMatches | undefined
}

/** Compares searches with scans of the rows in memory. The plan is that of a search without a filter. */
async function compareWithRows(
  replica: ReadableReplica,
  { version, sampled, matches, input: { fieldIndex, k, ef } }: Sampled & { readonly input: RecallInput },
): Promise<number[]> {
  const field = replica.dense[fieldIndex] as ReadableField
  const rows = replica.rowsAt(fieldIndex)
  const plan = planDense({
    rows,
    matches: matches?.count,
    ef,
    boostPercentage: 0,
    prefilterThreshold: undefined,
    exact: false,
  })
  const compared = plan.kind === 'compare' ? (matches?.count ?? rows) : 0
  const allowed = matches?.bitmap
  const all = allowed?.toOrdinals()
  const recalls: number[] = []
  for (const ordinal of sampled) {
    const row = field.row(ordinal)
    if (row === undefined) continue
    const found = await field.search(row, { k, ef, version, compared, ...(allowed && { allowed }) })
    recalls.push(recallOf(found, await field.scan(row, { k, version, ...(all && { ordinals: all }) })))
  }
  return recalls
}

interface RescoredSample extends Sampled {
  readonly originals: ReadableOriginals
  readonly task: DenseTaskWithoutSource
  readonly all: Uint32Array
}

/** Compares rescored searches with what `exact` returns. */
async function compareWithOriginals(
  replica: ReadableReplica,
  { version, sampled, originals, task, all, matches }: RescoredSample,
): Promise<number[]> {
  const field = replica.dense[task.fieldIndex] as ReadableField
  const stored = all.filter((ordinal) => field.has(ordinal, version))
  const context: RunContext = { replica, version, matches, input: plainSearch, room: undefined }
  const recalls: number[] = []
  // Each vector that is read is compared with all queries of a portion.
  for (let from = 0; from < sampled.length; from += queriesAtOnce) {
    const portion = sampled.slice(from, from + queriesAtOnce)
    const queries = await Promise.all(portion.map((ordinal) => originals.read(ordinal)))
    const exact = await rankOriginalsOfEach(
      stored,
      vectorsOf(originals, task.definition.params.dimension),
      task,
      queries,
    )
    for (const [i, query] of queries.entries()) {
      const { found } = await runRescored({ ...task, source: { kind: 'vector', query } }, originals, context)
      recalls.push(recallOf(found, exact[i] as Ranked))
    }
  }
  return recalls
}

const queriesAtOnce = 100

type Ranked = Pick<DenseHits, 'ordinals' | 'similarities'>

/** A row as similar as the last exact one is an equally good result. */
function recallOf(found: Ranked, exact: Ranked): number {
  const last = exact.similarities.at(-1) ?? 0
  const good = found.similarities.filter((similarity) => similarity >= last - Math.abs(last) * 1e-6).length
  return Math.min(1, good / Math.max(1, exact.ordinals.length))
}

/** At most `count` ordinals, evenly spread. */
function sampleEvenly(ordinals: Uint32Array, count: number): number[] {
  const size = Math.min(count, ordinals.length)
  return Array.from({ length: size }, (_, i) => ordinals[Math.floor((i * ordinals.length) / size)] as number)
}
