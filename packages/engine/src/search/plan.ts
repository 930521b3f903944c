// How a dense field is searched: every match compared, at the field's precision or by its code first, or the graph walked.
// Arithmetic on counts; knows no memory.

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
  readonly kind: 'nothing' | 'scan' | 'compare' | 'walk'
  readonly reason: string
  readonly ef?: number
  readonly costs?: { readonly scan: number; readonly walk: number }
}

// Measured on Fashion-MNIST and on 900,000 scattered rows (docs/kernel.md), in comparisons of a walk without a filter: it makes
// 7.1 for each entry of its pool. Under a filter a walk takes a third longer, and the longer the fewer rows match, for it
// reads the lists of those that do not. Codes compared one after another, which nothing has to be fetched for but
// themselves, take 0.4 of the time; those of a walk that found as many of the nearest would have to be more: where few match
// in a cluster, few of their links lead to each other.
const walkComparisonsPerEntry = 7.1
const filteredWalkCost = 1.3
const listsCost = 0.035
const comparisonCost = 0.4
const equalRecallCost = 1.25

export function planDense(input: PlanInput): DensePlan {
  const { rows, matches, ef, boostPercentage, prefilterThreshold, exact } = input
  if (rows === 0) return { kind: 'nothing', reason: 'the field has no rows' }
  if (matches === 0) return { kind: 'nothing', reason: 'no object matches the filter' }
  if (exact) return { kind: 'scan', reason: 'exact was asked for' }
  if (matches === undefined) return { kind: 'walk', reason: 'there is no filter', ef }
  const boosted = Math.ceil((ef * (100 + boostPercentage)) / 100)
  const costs = { scan: Math.round(matches * comparisonCost), walk: walkCost(rows, matches, boosted) }
  const compared = `${matches} match`
  if (prefilterThreshold !== undefined)
    return matches > prefilterThreshold
      ? { kind: 'walk', reason: `${compared}, more than the threshold of ${prefilterThreshold}`, ef: boosted, costs }
      : { kind: 'scan', reason: `${compared}, not more than the threshold of ${prefilterThreshold}`, costs }
  return costs.scan <= costs.walk
    ? { kind: 'compare', reason: `${compared}, and comparing each is cheaper than a walk`, ef: boosted, costs }
    : { kind: 'walk', reason: `${compared}, and a walk is cheaper than comparing each`, ef: boosted, costs }
}

function walkCost(rows: number, matches: number, ef: number): number {
  const share = Math.min(1, matches / rows)
  return Math.round(equalRecallCost * walkComparisonsPerEntry * ef * (filteredWalkCost + listsCost / share))
}
