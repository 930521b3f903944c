// Two replays of one trace, stretch against stretch. A verdict is only given where the stretches agree well enough for one.
import type { Stretch } from './measure.ts'
import type { ReplayResult } from './replay.ts'
import { ReplayError } from './trace.ts'
import { type PairedVerdict, pairedVerdict } from './verdict.ts'

/** Medians over the stretches of b / a. */
export interface Comparison extends Omit<PairedVerdict, 'pairs'> {
  readonly measure: string
  readonly stretches: number
}

const measures: readonly {
  readonly name: string
  readonly valueOf: (stretch: Stretch) => number
  readonly more: 'better' | 'worse'
}[] = [
  { name: 'objects per second', valueOf: (stretch) => stretch.objectsPerSecond, more: 'better' },
  { name: 'acknowledgement p50', valueOf: ({ acknowledged }) => acknowledged.p50, more: 'worse' },
  { name: 'acknowledgement p99', valueOf: ({ acknowledged }) => acknowledged.p99, more: 'worse' },
  { name: 'search p50', valueOf: ({ searched }) => searched.p50, more: 'worse' },
  { name: 'search p99', valueOf: ({ searched }) => searched.p99, more: 'worse' },
  { name: 'recall', valueOf: ({ recall }) => recall ?? Number.NaN, more: 'better' },
  { name: 'memory', valueOf: ({ memoryBytes }) => memoryBytes ?? Number.NaN, more: 'worse' },
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
  return measures.flatMap(({ name, valueOf, more }) => {
    const ratios = a.stretches.map((stretch, i) => valueOf(b.stretches[i] as Stretch) / valueOf(stretch))
    const found = pairedVerdict(ratios, { more, sameWithin })
    if (found === undefined) return []
    const { pairs, ...verdict } = found
    return [{ measure: name, ...verdict, stretches: pairs }]
  })
}
