// How long a file of many cases may take on a busy machine; it says nothing about how fast it must be. Importing this
// file gives the whole test process that time.
import tap from 'tap'

const timeout = process.env.ANNAL_LONG === '1' ? 7_200_000 : 900_000
tap.setTimeout(timeout)

export const patient = { timeout }

/** How many cases: what every change runs, and what ANNAL_LONG=1 runs. */
export function sized(usual: number, long: number): number {
  return process.env.ANNAL_LONG === '1' ? long : usual
}
