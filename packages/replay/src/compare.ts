// Two replays of one trace, stretch against stretch. A verdict is only given where the stretches agree well enough for one.
import { median, type Stretch } from './measure.ts'
import type { ReplayResult } from './replay.ts'
import { ReplayError } from './trace.ts'

export interface Comparison {
  readonly measure: string
  /** Median over the stretches of b / a. */
  readonly ratio: number
  /** Half of the ratios lie between these. */
  readonly quarter: number
  readonly threeQuarters: number
  /** `noise` where less than three quarters of the stretches are on one side. */
  readonly verdict: 'better' | 'worse' | 'noise'
  readonly stretches: number
}

const measures: readonly {
  readonly name: string
  readonly of: (stretch: Stretch) => number
  readonly more: 'better' | 'worse'
}[] = [
  { name: 'objects per second', of: (stretch) => stretch.objectsPerSecond, more: 'better' },
  { name: 'acknowledgement p50', of: ({ acknowledged }) => acknowledged.p50, more: 'worse' },
  { name: 'acknowledgement p99', of: ({ acknowledged }) => acknowledged.p99, more: 'worse' },
  { name: 'search p50', of: ({ searched }) => searched.p50, more: 'worse' },
  { name: 'search p99', of: ({ searched }) => searched.p99, more: 'worse' },
  { name: 'recall', of: ({ recall }) => recall ?? Number.NaN, more: 'better' },
  { name: 'memory', of: ({ memoryBytes }) => memoryBytes ?? Number.NaN, more: 'worse' },
]

/** Smaller differences than this say nothing, however steady they are. */
const sameWithin = 0.005

/** Throws ReplayError invalid_argument for replays of different traces. */
export function compareResults(a: ReplayResult, b: ReplayResult): Comparison[] {
  if (
    a.trace.description !== b.trace.description ||
    a.trace.events !== b.trace.events ||
    a.stretches.length !== b.stretches.length
  )
    throw new ReplayError(
      'invalid_argument',
      'only replays of the same trace, measured in as many stretches, can be compared',
    )
  return measures.flatMap(({ name, of, more }) => {
    const ratios = a.stretches
      .map((stretch, i) => of(b.stretches[i] as Stretch) / of(stretch))
      .filter((ratio) => Number.isFinite(ratio) && ratio > 0)
      .sort((x, y) => x - y)
    if (ratios.length === 0) return []
    const at = (share: number) => ratios[Math.min(ratios.length - 1, Math.floor(share * ratios.length))] as number
    const ratio = median(ratios)
    const comparison = { measure: name, ratio, quarter: at(0.25), threeQuarters: at(0.75), stretches: ratios.length }
    return [{ ...comparison, verdict: verdictOf(ratios, ratio, more) }]
  })
}

function verdictOf(ratios: readonly number[], ratio: number, more: 'better' | 'worse'): Comparison['verdict'] {
  const above = ratios.filter((value) => value > 1 + sameWithin).length
  const below = ratios.filter((value) => value < 1 - sameWithin).length
  const isClear = Math.max(above, below) >= 0.75 * ratios.length && ratios.length >= 4
  if (!isClear) return 'noise'
  return ratio > 1 === (more === 'better') ? 'better' : 'worse'
}
