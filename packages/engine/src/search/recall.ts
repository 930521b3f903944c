// Measures the recall of a dense field: searches for stored vectors and compares the results with exact ones.

import { efDefault, recallSampleDefault, topKDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { efMax, type Limits, recallSampleMax } from '../limits.ts'
import { printed } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { RecallReport, RecallRequest } from '../model/query.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { Replica } from '../replica/replica.ts'
import type { DenseField } from '../vector/field.ts'
import { planDense } from './plan.ts'

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
  const fieldIndex = definition.fields.findIndex(
    ({ kind, name }) => kind !== 'sparse' && (request.field === undefined || name === request.field),
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
export async function measureRecall(
  replica: Replica,
  { fieldIndex, field: name, sample, k, ef }: RecallInput,
): Promise<RecallReport> {
  replica.publish()
  const { version, lsnApplied } = replica
  const release = replica.pins.pin(version)
  try {
    const field = replica.dense[fieldIndex] as DenseField
    // The plan of a search without a filter.
    const rows = replica.rowsAt(fieldIndex)
    const plan = planDense({
      rows,
      matches: undefined,
      ef,
      boostPercentage: 0,
      prefilterThreshold: undefined,
      exact: false,
    })
    const compared = plan.kind === 'compare' ? rows : 0
    const recalls: number[] = []
    for (const ordinal of sampleEvenly(replica.filters.evaluate([]).bitmap.toOrdinals(), sample)) {
      const row = field.has(ordinal, version) ? field.row(ordinal) : undefined
      if (row === undefined) continue
      const [found, exact] = [
        await field.search(row, { k, ef, version, compared }),
        await field.scan(row, { k, version }),
      ]
      const last = exact.similarities.at(-1) ?? 0
      // A row as similar as the last exact one is an equally good result.
      const good = found.similarities.filter((similarity) => similarity >= last - Math.abs(last) * 1e-6).length
      recalls.push(Math.min(1, good / Math.max(1, exact.ordinals.length)))
    }
    const mean = recalls.reduce((sum, recall) => sum + recall, 0) / Math.max(1, recalls.length)
    return {
      field: name,
      sample: recalls.length,
      recall: recalls.length === 0 ? 1 : mean,
      recallWorst: Math.min(1, ...recalls),
      lsn: lsnApplied,
    }
  } finally {
    release()
  }
}

/** At most `count` ordinals, evenly spread. */
function sampleEvenly(ordinals: Uint32Array, count: number): number[] {
  const size = Math.min(count, ordinals.length)
  return Array.from({ length: size }, (_, i) => ordinals[Math.floor((i * ordinals.length) / size)] as number)
}
