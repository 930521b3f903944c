// How a dense field is searched: every match compared, or the graph walked. Arithmetic on counts; knows no memory.
import { prefilterThresholdDefault } from '../limits.ts'

export interface PlanInput {
  /** Rows of the field. */
  readonly rows: number
  /** Objects that match, counted exactly; undefined without a filter. */
  readonly matches: number | undefined
  readonly ef: number
  readonly boostPercentage: number
  /** As given; undefined leaves the choice to the costs. */
  readonly prefilterThreshold: number | undefined
  readonly exact: boolean
}

export interface DensePlan {
  readonly kind: 'nothing' | 'scan' | 'walk'
  readonly reason: string
  readonly ef?: number
  readonly costs?: { readonly scan: number; readonly walk: number }
}

/**
 * Comparisons of a walk for each entry of its pool, as measured on several sets; and what one of them costs in comparisons of a
 * scan: a walk's are shorter, but of rows that lie anywhere (benchmarks/src/filtered measures both).
 */
const walkComparisonsPerEntry = 16
const walkComparisonCost = 0.9

export function planDense({ rows, matches, ef, boostPercentage, prefilterThreshold, exact }: PlanInput): DensePlan {
  if (rows === 0) return { kind: 'nothing', reason: 'the field has no rows' }
  if (matches === 0) return { kind: 'nothing', reason: 'no object matches the filter' }
  if (exact) return { kind: 'scan', reason: 'exact was asked for' }
  if (matches === undefined) return { kind: 'walk', reason: 'there is no filter', ef }
  const boosted = Math.ceil((ef * (100 + boostPercentage)) / 100)
  const costs = { scan: matches, walk: walkCost(rows, matches, boosted) }
  const threshold = prefilterThreshold ?? prefilterThresholdDefault
  const compared = `${matches} match`
  if (matches > threshold)
    return { kind: 'walk', reason: `${compared}, more than the threshold of ${threshold}`, ef: boosted, costs }
  if (prefilterThreshold !== undefined)
    return { kind: 'scan', reason: `${compared}, not more than the threshold of ${threshold}`, costs }
  return costs.scan <= costs.walk
    ? { kind: 'scan', reason: `${compared}, and comparing each is cheaper than a walk`, costs }
    : { kind: 'walk', reason: `${compared}, and a walk is cheaper than comparing each`, ef: boosted, costs }
}

/** A walk passes through rows that do not match until its pool is full of those that do. */
function walkCost(rows: number, matches: number, ef: number): number {
  const share = Math.min(1, matches / rows)
  return Math.round(Math.min(rows, (walkComparisonsPerEntry * ef) / share) * walkComparisonCost)
}
