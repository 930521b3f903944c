// The number of cases a test runs, and the time limit of its file on a busy machine. The limit is no speed requirement.
// Importing this file sets it for the whole test process.
import tap from 'tap'

const isLong = process.env.ANNAL_LONG === '1'
/** The sabotage runner tries one case in this many: enough to detect a planted bug. */
const sampleEvery = Math.max(1, Number(process.env.ANNAL_SAMPLE_EVERY ?? 1) || 1)
const timeout = isLong ? 7_200_000 : 900_000
tap.setTimeout(timeout)

export const patient = { timeout }

/**
 * Number of cases: `usual` in every run, `long` with ANNAL_LONG=1; the sabotage runner takes its share of `sampled`.
 */
export function sized(usual: number, long: number, sampled = usual): number {
  if (sampleEvery > 1) return Math.ceil(sampled / sampleEvery)
  return isLong ? long : usual
}

/** The cases 0 to `count`, or the sampled ones of them. */
export function* cases(count: number): Generator<number> {
  for (let n = 0; n < count; n += sampleEvery) yield n
}
