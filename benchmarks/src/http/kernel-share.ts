// The cost of the same searches in a thread that does nothing else: the share of the kernel.
import { openAnnal } from '../ann/annal.ts'
import type { Dataset } from '../ann/dataset.ts'

/** Milliseconds of CPU time for each search, median over rounds. */
export async function kernelMs(set: Dataset, ef: number, rounds: number): Promise<number> {
  const index = await openAnnal(set, 'int8')
  const nq = set.queries.length / set.dimension
  const times: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const { cpuSeconds } = await index.run(ef)
    if (round > 0) times.push((cpuSeconds * 1_000) / nq)
  }
  await index.close()
  return times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN
}
