// What was measured in one collection, in a form that crosses threads and processes as it is, and how ef is chosen from it. Every thread
// that has the table chooses the same ef.
import { efMax } from '../limits.ts'
import type { CalibratedKind, CalibrationTable, SearchRecall } from '../model/calibration.ts'
import type { ChosenEf } from './recall-curve.ts'
import { chooseForShare } from './shares.ts'

/** Values of k that are measured. A search uses the next larger one: at the same ef, its recall is higher. */
const measuredLimits = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 4_096]

/** Values of ef of an untrue measurement are raised by this factor. */
const staleFactor = 1.25

/** What a choice depends on besides the table. */
export interface RecallNeed {
  readonly fieldIndex: number
  readonly k: number
  readonly rescore: boolean
  readonly target: number
  /** Number of objects that match; undefined without a filter. */
  readonly matches: number | undefined
  /** Rows of the field. */
  readonly rows: number
}

/** The limit whose measurement is used for searches with this one. */
export function measuredLimit(k: number): number {
  return measuredLimits.find((one) => one >= k) ?? k
}

/** Chooses ef from the measurement of a kind of search; a careful default if there is none. */
export function chooseFrom(
  kind: Pick<CalibratedKind, 'curves' | 'rowCurves' | 'isTrue'> | undefined,
  { k, target, matches, rows }: Pick<RecallNeed, 'k' | 'target' | 'matches' | 'rows'>,
): SearchRecall {
  if (kind === undefined) return { target, ef: uncalibratedEf(target, k), calibrated: false }
  const share = matches === undefined ? 1 : Math.min(1, matches / Math.max(1, rows))
  const { ef, expected, reached } = cheaper(
    chooseForShare(kind.curves, share, target),
    kind.rowCurves && chooseForShare(kind.rowCurves, share, target),
  )
  const chosen = Math.max(k, Math.min(efMax, kind.isTrue ? ef : Math.ceil(ef * staleFactor)))
  return { target, ef: chosen, expected, reachable: reached, calibrated: kind.isTrue }
}

/** Both are careful: few received queries have a large error, and made queries are harder than received ones. */
function cheaper(received: ChosenEf, rows: ChosenEf | undefined): ChosenEf {
  if (rows === undefined) return received
  if (rows.reached !== received.reached) return rows.reached ? rows : received
  return rows.ef < received.ef ? rows : received
}

/** Finds the measurement of a kind of search in a table. */
export function findKind(
  table: CalibrationTable | undefined,
  { fieldIndex, k, rescore }: Pick<RecallNeed, 'fieldIndex' | 'k' | 'rescore'>,
): CalibratedKind | undefined {
  const limit = measuredLimit(k)
  return table?.kinds.find((kind) => kind.fieldIndex === fieldIndex && kind.limit === limit && kind.rescore === rescore)
}

/** Enough on all sets of benchmarks/results/recall.md: 64 for .90, 97 for .95, 254 for .99, with k up to 10. */
export function uncalibratedEf(target: number, k: number): number {
  const ef = (16 / (1 - target) ** 0.6) * Math.max(1, Math.sqrt(k / 10))
  return Math.max(k, Math.min(efMax, Math.ceil(ef)))
}
