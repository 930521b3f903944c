// Two settings side by side: the means of their measures, how far they differ, and whether that can be chance.
import { type MeasureName, type Measures, mean, measureNames } from './metrics.ts'
import { type Interval, meanInterval, randomizationTest, type Significance } from './significance.ts'

/** The measures of one query. */
export interface JudgedResult {
  readonly a: Measures
  readonly b: Measures | undefined
}

/** The number of random assignments, and the seed of the generator: the same seed gives the same p. */
export interface RandomizationOptions {
  readonly rounds: number
  readonly seed: number
}

/** B less A in one measure. */
export interface Comparison extends Significance {
  /** Mean of the differences. */
  readonly difference: number
  /** Where the mean is with a confidence of 95 %; undefined for a single query. */
  readonly interval: Interval | undefined
  /** Queries by the sign of their difference. */
  readonly better: number
  readonly worse: number
  readonly equal: number
}

/** A comparison for each measure. */
export type Comparisons = Readonly<Record<MeasureName, Comparison>>

/** The queries have a second result. */
export function compareSettings(judged: readonly JudgedResult[], options: RandomizationOptions): Comparisons {
  const compared = measureNames.map((name): [MeasureName, Comparison] => {
    const differences = judged.map((one) => differenceOf(one, name))
    const count = (isCounted: (difference: number) => boolean) => differences.filter(isCounted).length
    return [
      name,
      {
        difference: mean(differences),
        interval: meanInterval(differences),
        better: count((difference) => difference > 0),
        worse: count((difference) => difference < 0),
        equal: count((difference) => difference === 0),
        ...randomizationTest(differences, options),
      },
    ]
  })
  return Object.fromEntries(compared) as Record<MeasureName, Comparison>
}

/** The measure of B minus that of A for one query. A query that one setting did not run counts as 0. */
export function differenceOf({ a, b }: JudgedResult, name: MeasureName): number {
  return (b?.[name] ?? 0) - a[name]
}

/** The means of the measures of one setting over all judged queries, each 0 to 1. */
export function meansOf(judged: readonly JudgedResult[], side: 'a' | 'b'): Measures {
  const meanOf = (name: MeasureName) => mean(judged.map((one) => one[side]?.[name] ?? 0))
  return { ndcg: meanOf('ndcg'), recall: meanOf('recall'), mrr: meanOf('mrr') }
}

/** The queries whose nDCG differs, most first, in the order of the file where they differ alike. */
export function mostDifferent<One extends JudgedResult>(judged: readonly One[], most: number): readonly One[] {
  const distance = (one: One) => Math.abs(differenceOf(one, 'ndcg'))
  return judged
    .filter((one) => distance(one) !== 0)
    .sort((x, y) => distance(y) - distance(x))
    .slice(0, most)
}
