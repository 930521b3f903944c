// How the recall of a search grows with ef, measured at some values of ef with the same queries, and which ef reaches a recall.

/** Recall measured at one ef. */
export interface CurvePoint {
  readonly ef: number
  /** Mean over the queries. */
  readonly recall: number
  /** Standard error of the mean. */
  readonly error: number
}

/** The chosen ef and the recall to expect. */
export interface ChosenEf {
  readonly ef: number
  readonly expected: number
  /** Whether the target is expected to be reached. */
  readonly reached: boolean
}

/** Of the promise to be at most .005 below the target. The rest of it is for the error of the measurement. */
const slack = 0.0025
/** Higher recall by less than this is no reason for more work. */
const negligible = 1e-4

/**
 * Chooses the smallest ef at which the lower bound of the recall reaches the target, between the measured ones by interpolation. If none does,
 * chooses the smallest measured ef with the highest recall. The points are in ascending order of ef; there is at least one.
 */
export function chooseEf(points: readonly CurvePoint[], target: number): ChosenEf {
  const needed = target - slack
  let before: { readonly ef: number; readonly low: number; readonly recall: number } | undefined
  for (const { ef, recall, error } of rising(points)) {
    const low = recall - error
    if (low >= needed) {
      if (before === undefined) return { ef, expected: recall, reached: true }
      const part = (needed - before.low) / (low - before.low)
      const between = Math.ceil(Math.exp(Math.log(before.ef) * (1 - part) + Math.log(ef) * part) - 1e-6)
      return { ef: between, expected: before.recall * (1 - part) + recall * part, reached: true }
    }
    before = { ef, low, recall }
  }
  const best = points.reduce((most, { recall }) => Math.max(most, recall), 0)
  const first = points.find(({ recall }) => recall >= best - negligible) as CurvePoint
  return { ef: first.ef, expected: first.recall, reached: false }
}

/** A larger ef finds no less, apart from chance. */
function rising(points: readonly CurvePoint[]): CurvePoint[] {
  let most = 0
  return points.map((point) => {
    most = Math.max(most, point.recall)
    return { ...point, recall: most }
  })
}

/** The mean of shares of results that were found, and its standard error, which is not 0 for a sample that misses nothing. */
export function meanOf(shares: readonly number[]): { readonly recall: number; readonly error: number } {
  const count = Math.max(1, shares.length)
  const recall = shares.reduce((sum, share) => sum + share, 0) / count
  const variance = shares.reduce((sum, share) => sum + (share - recall) ** 2, 0) / count
  // One more query that misses half of its results: a sample without misses says little about rare ones.
  const cautious = variance + 0.25 / count
  return { recall, error: Math.sqrt(cautious / count) }
}
