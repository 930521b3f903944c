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
  /** How many of the rows nearest to the query match, where somebody looked. */
  readonly probed?: Probed
}

export interface Probed {
  readonly rows: number
  readonly matches: number
}

export interface DensePlan {
  readonly kind: 'nothing' | 'scan' | 'walk'
  readonly reason: string
  readonly ef?: number
  readonly costs?: { readonly scan: number; readonly walk: number }
}

// Measured on Fashion-MNIST by benchmarks/src/filtered (results/filtered.md): a walk without a filter compares 7.3 rows for each
// entry of its pool; with a filter that a share of the rows matches, share^-0.64 times as many; and one comparison of a walk,
// whose rows are often at hand, takes 0.6 of the time of one in a scan, whose rows seldom are.
const walkComparisonsPerEntry = 7.3
const walkExponent = -0.64
const walkComparisonCost = 0.6
/** Nearest rows that tell whether a filter goes with the query or against it. */
export const probeRows = 32
/** A probe costs as much as comparing so many rows: below twice of it scanning is never wrong by much. */
const probeCost = 250
/** The share of matches in the whole collection counts as much as so many nearest rows. */
const priorRows = 4

export function planDense(input: PlanInput): DensePlan {
  const { rows, matches, ef, boostPercentage, prefilterThreshold, exact, probed } = input
  if (rows === 0) return { kind: 'nothing', reason: 'the field has no rows' }
  if (matches === 0) return { kind: 'nothing', reason: 'no object matches the filter' }
  if (exact) return { kind: 'scan', reason: 'exact was asked for' }
  if (matches === undefined) return { kind: 'walk', reason: 'there is no filter', ef }
  const boosted = Math.ceil((ef * (100 + boostPercentage)) / 100)
  const costs = { scan: matches, walk: walkCost({ rows, matches, ef: boosted, probed }) }
  const threshold = prefilterThreshold ?? prefilterThresholdDefault
  const near = probed === undefined ? '' : ` (${probed.matches} of the ${probed.rows} nearest)`
  const compared = `${matches} match${near}`
  if (matches > threshold)
    return { kind: 'walk', reason: `${compared}, more than the threshold of ${threshold}`, ef: boosted, costs }
  if (prefilterThreshold !== undefined)
    return { kind: 'scan', reason: `${compared}, not more than the threshold of ${threshold}`, costs }
  return costs.scan <= costs.walk
    ? { kind: 'scan', reason: `${compared}, and comparing each is cheaper than a walk`, costs }
    : { kind: 'walk', reason: `${compared}, and a walk is cheaper than comparing each`, ef: boosted, costs }
}

/**
 * Whether the rows nearest to the query should be looked at before a plan is chosen: a filter that goes with the query makes a
 * walk cheap and one that goes against it makes it dear, and the count of matches does not tell which it is.
 */
export function isWorthProbing({ rows, matches, prefilterThreshold, exact }: PlanInput): boolean {
  if (exact || matches === undefined || prefilterThreshold !== undefined) return false
  return matches > 4 * probeCost && matches <= Math.min(prefilterThresholdDefault, rows / 2)
}

function walkCost(of: {
  readonly rows: number
  readonly matches: number
  readonly ef: number
  readonly probed: Probed | undefined
}): number {
  const { rows, matches, ef, probed = { rows: 0, matches: 0 } } = of
  const share = Math.min(1, matches / rows)
  const local = (probed.matches + priorRows * share) / (probed.rows + priorRows)
  return Math.round(Math.min(rows, walkComparisonsPerEntry * ef * local ** walkExponent) * walkComparisonCost)
}
