// Annal's index, searched in the calling thread and built by one worker by default. Precisions that are rescored by default are rescored here.
import type { Precision } from '@annal/engine'
import { isCoarse, openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import type { Dataset } from '../sets/dataset.ts'
import { fill } from '../sets/fill.ts'
import { type Contender, recallOf } from './contender.ts'
import { openRescorer } from './rescorer.ts'

export async function openAnnal(set: Dataset, precision: Precision, threads = 1): Promise<Contender> {
  const { dimension, metric, base, queries, truth } = set
  const pool = await openWorkerPool({ threads })
  const params = { dimension, spaceType: metric, precision, M: 16, efConstruction: 128, rules: rulesNewest }
  const field = await openDenseField({ kind: 'dense', name: 'vector', params }, pool)
  const before = process.cpuUsage()
  await fill(field, base, dimension, `${set.name} annal-${precision}`)
  const used = process.cpuUsage(before)
  const nq = queries.length / dimension
  const version = 1e6
  const rescorer = isCoarse(precision) ? await openRescorer(field, base, params) : undefined
  const bytes = Object.values(field.bytes()).reduce((sum, part) => sum + part, 0)
  return {
    name: `annal-${precision}`,
    buildCpuSeconds: (used.user + used.system) / 1e6,
    bytesPerRow: Math.round((bytes * dimension) / base.length),
    async run(ef, k) {
      const answers = new Uint32Array(nq * k)
      const from = performance.now()
      const cpu = process.cpuUsage()
      for (let i = 0; i < nq; i++) {
        const query = queries.subarray(i * dimension, (i + 1) * dimension)
        const found = rescorer
          ? await rescorer.search(query, { k, ef })
          : field.searchSync(query, { k, ef, version }).ordinals
        answers.set(found, i * k)
      }
      const spent = process.cpuUsage(cpu)
      const wallSeconds = (performance.now() - from) / 1000
      return {
        recall: recallOf(answers, truth, { queries: nq, k }),
        wallSeconds,
        cpuSeconds: (spent.user + spent.system) / 1e6,
      }
    },
    async close() {
      await rescorer?.close()
      await field.close()
      await pool.close()
    },
  }
}
