// Decides how a dense field is searched: every match is compared, by its row or by its code first, or the graph is walked. Uses counts
// only.

/** The facts that decide how a dense field is searched. */
export interface PlanInput {
  /** Number of rows of the field. */
  readonly rows: number
  /** Exact number of matching objects; undefined without a filter. */
  readonly matches: number | undefined
  readonly ef: number
  readonly boostPercentage: number
  /** From the request; undefined to decide by costs. */
  readonly prefilterThreshold: number | undefined
  readonly exact: boolean
}

/** The chosen plan, the reason in words, and the estimated costs in comparisons of a walk. */
export interface DensePlan {
  readonly kind: 'nothing' | 'scan' | 'compare' | 'walk'
  readonly reason: string
  readonly ef?: number
  readonly costs?: { readonly scan: number; readonly walk: number }
}

// Measured on Fashion-MNIST and on 900,000 scattered rows (docs/lab/2026-11-22-filtered-walks.md), in comparisons of a walk without a
// filter. Such a walk makes 7.1 comparisons for each entry of its pool. A filtered walk takes a third longer, and more if fewer rows
// match, because it reads the lists of the rows that do not. A comparison in order takes 0.4 of the time, because it loads nothing but
// the codes. A walk of equal recall would need more entries: if few rows of a cluster match, few of their links lead to each other.
const walkComparisonsPerEntry = 7.1
const filteredWalkCost = 1.3
const listsCost = 0.035
const comparisonCost = 0.4
const equalRecallCost = 1.25

// Without a filter, on 1,400 to 11,000 rows of five real sets (docs/lab/2026-11-22-small-fields.md): a walk makes 50 to 66 comparisons
// for each entry of its pool to the power of 0.6, more on harder sets. A comparison in order takes 0.45 of one in a walk. A walk
// sometimes ends in the wrong place and finds nothing true. A scan never does, so it may take twice as long.
const smallWalkComparisons = 66
const smallWalkPower = 0.6
const smallComparisonCost = 0.45
const surerCost = 2

/** Chooses how a dense field is searched. */
export function planDense(input: PlanInput): DensePlan {
  const { rows, matches, ef, boostPercentage, prefilterThreshold, exact } = input
  if (rows === 0) return { kind: 'nothing', reason: 'the field has no rows' }
  if (matches === 0) return { kind: 'nothing', reason: 'no object matches the filter' }
  if (exact) return { kind: 'scan', reason: 'exact was requested' }
  if (matches === undefined) return planUnfiltered(rows, ef)
  const boosted = Math.ceil((ef * (100 + boostPercentage)) / 100)
  const costs = { scan: Math.round(matches * comparisonCost), walk: walkCost(rows, matches, boosted) }
  const compared = `${separated(matches)} match`
  if (prefilterThreshold !== undefined)
    return matches > prefilterThreshold
      ? {
          kind: 'walk',
          reason: `${compared}, more than the threshold of ${separated(prefilterThreshold)}`,
          ef: boosted,
          costs,
        }
      : { kind: 'scan', reason: `${compared}, not more than the threshold of ${separated(prefilterThreshold)}`, costs }
  if (isSmall(matches, boosted))
    return {
      kind: 'compare',
      reason: `${compared}, and comparing each costs at most about twice a walk`,
      ef: boosted,
      costs,
    }
  return costs.scan <= costs.walk
    ? { kind: 'compare', reason: `${compared}, and comparing each is cheaper than a walk`, ef: boosted, costs }
    : { kind: 'walk', reason: `${compared}, and a walk is cheaper than comparing each`, ef: boosted, costs }
}

/** A number in a reason: `4,000`. */
export function separated(count: number): string {
  return count < 1_000 ? String(count) : String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

function planUnfiltered(rows: number, ef: number): DensePlan {
  if (!isSmall(rows, ef)) return { kind: 'walk', reason: 'there is no filter', ef }
  const costs = { scan: Math.round(rows * smallComparisonCost), walk: smallWalkCost(ef) }
  const reason = `there is no filter, and comparing all ${separated(rows)} rows costs at most about twice a walk`
  return { kind: 'compare', reason, ef, costs }
}

/** Whether comparing this many rows costs at most about twice a walk of a field with only these rows. */
function isSmall(rows: number, ef: number): boolean {
  // The cost of a walk is at most this for any power up to 1; powers take as long as the rest of a plan.
  if (rows * smallComparisonCost > surerCost * smallWalkComparisons * ef) return false
  return rows * smallComparisonCost <= surerCost * smallWalkCost(ef)
}

function smallWalkCost(ef: number): number {
  return Math.round(smallWalkComparisons * ef ** smallWalkPower)
}

function walkCost(rows: number, matches: number, ef: number): number {
  const share = Math.min(1, matches / rows)
  return Math.round(equalRecallCost * walkComparisonsPerEntry * ef * (filteredWalkCost + listsCost / share))
}
