// Compares two replays of one trace, interval by interval. A verdict is given only if the intervals agree well enough.
import type { Stretch } from './measure.ts'
import type { ReplayResult } from './replay.ts'
import { ReplayError } from './trace.ts'
import { type PairedVerdict, pairedVerdict } from './verdict.ts'

/** Medians of b / a over the intervals. */
export interface Comparison extends Omit<PairedVerdict, 'pairs'> {
  readonly measure: string
  readonly stretches: number
}

const measures: readonly {
  readonly name: string
  readonly measureOf: (stretch: Stretch) => number
  readonly more: 'better' | 'worse'
}[] = [
  { name: 'objects per second', measureOf: (stretch) => stretch.objectsPerSecond, more: 'better' },
  { name: 'acknowledgement p50', measureOf: ({ acknowledged }) => acknowledged.p50, more: 'worse' },
  { name: 'acknowledgement p99', measureOf: ({ acknowledged }) => acknowledged.p99, more: 'worse' },
  { name: 'search p50', measureOf: ({ searched }) => searched.p50, more: 'worse' },
  { name: 'search p99', measureOf: ({ searched }) => searched.p99, more: 'worse' },
  { name: 'recall', measureOf: ({ recall }) => recall ?? Number.NaN, more: 'better' },
  { name: 'memory', measureOf: ({ memoryBytes }) => memoryBytes ?? Number.NaN, more: 'worse' },
]

/** Smaller differences are ignored, however consistent they are. */
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
      'only replays of the same trace with the same number of stretches can be compared',
    )
  return measures.flatMap(({ name, measureOf, more }) => {
    const ratios = a.stretches.map((stretch, i) => measureOf(b.stretches[i] as Stretch) / measureOf(stretch))
    const found = pairedVerdict(ratios, { more, sameWithin })
    if (found === undefined) return []
    const { pairs, ...verdict } = found
    return [{ measure: name, ...verdict, stretches: pairs }]
  })
}
