// How many cases a test tries, and how long its file may take on a busy machine, which says nothing about how fast it
// must be. Importing this file gives the whole test process that time.
import tap from 'tap'

const isLong = process.env.ANNAL_LONG === '1'
/** The sabotage runner looks at one case in so many: enough to see a planted bug. */
const sampleEvery = Math.max(1, Number(process.env.ANNAL_SAMPLE_EVERY ?? 1) || 1)
const timeout = isLong ? 7_200_000 : 900_000
tap.setTimeout(timeout)

export const patient = { timeout }

/** How many cases: what every change runs, and what ANNAL_LONG=1 runs; of `sampled` the sabotage runner takes its share. */
export function sized(usual: number, long: number, sampled = usual): number {
  if (sampleEvery > 1) return Math.ceil(sampled / sampleEvery)
  return isLong ? long : usual
}

/** The cases 0 to `count`, or the sampled ones of them. */
export function* cases(count: number): Generator<number> {
  for (let n = 0; n < count; n += sampleEvery) yield n
}
