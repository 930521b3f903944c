// The cost of rescoring in the embedded engine with files in the page cache: the time of a search that reads its candidates divided by that
// of the same search without rescoring, measured alternately, for one caller and for eight concurrent callers.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import type { Dataset } from '../sets/dataset.ts'
import { median } from './contender.ts'

const batch = 1_000
const rounds = 7
const queriesPerRound = 128

export interface RescoringCost {
  readonly callers: number
  /** Milliseconds per search, median over the rounds. */
  readonly plainMs: number
  readonly rescoredMs: number
  /** Median of the ratios of the rounds. */
  readonly ratio: number
}

export async function rescoringCost({ name, dimension, metric, base, queries }: Dataset): Promise<RescoringCost[]> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-bench-'))
  const engine = await openEngine({ dataDir: join(dir, 'data'), fsync: 'none' })
  try {
    const params = { dimension, spaceType: metric, precision: 'binary' } as const
    const collection = await engine
      .database()
      .createCollection({ name: name.replaceAll('-', '_'), fields: [{ name: 'v', type: 'vector', params }] })
    const n = base.length / dimension
    for (let from = 0; from < n; from += batch)
      await collection.upsert(
        Array.from({ length: Math.min(batch, n - from) }, (_, i) => ({
          id: `${from + i}`,
          fields: { v: base.subarray((from + i) * dimension, (from + i + 1) * dimension) },
        })),
      )
    const nq = queries.length / dimension
    const search = (i: number, rescore: boolean) => {
      const query = queries.subarray((i % nq) * dimension, ((i % nq) + 1) * dimension)
      return collection.search({ fields: { v: { query, limit: 10 } }, rescore })
    }
    const timed = async (callers: number, rescore: boolean) => {
      const from = performance.now()
      for (let i = 0; i < queriesPerRound; i += callers)
        await Promise.all(Array.from({ length: callers }, (_, caller) => search(i + caller, rescore)))
      return (performance.now() - from) / queriesPerRound
    }
    const costs: RescoringCost[] = []
    for (const callers of [1, 8]) {
      const pairs: { readonly plain: number; readonly rescored: number }[] = []
      for (let round = -1; round < rounds; round++) {
        const pair = { plain: await timed(callers, false), rescored: await timed(callers, true) }
        // The first round is a warm-up.
        if (round >= 0) pairs.push(pair)
      }
      costs.push({
        callers,
        plainMs: median(pairs.map(({ plain }) => plain)),
        rescoredMs: median(pairs.map(({ rescored }) => rescored)),
        ratio: median(pairs.map(({ plain, rescored }) => rescored / plain)),
      })
    }
    return costs
  } finally {
    await engine.close()
    await rm(dir, { recursive: true })
  }
}
