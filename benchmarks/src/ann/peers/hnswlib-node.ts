// hnswlib-node: hnswlib bound to Node, compiled by its own installation. One call for each row and each query, as its users do.

import type { Dataset } from '../../sets/dataset.ts'
import { progress } from '../../sets/progress.ts'
import { type Contender, recallOf } from '../contender.ts'
import { installed } from './install.ts'

interface Index {
  initIndex(rows: number, M: number, efConstruction: number, seed: number): void
  addPoint(point: readonly number[], label: number): void
  setEf(ef: number): void
  searchKnn(query: readonly number[], k: number): { readonly neighbors: readonly number[] }
}

interface HnswlibNode {
  readonly HierarchicalNSW: new (space: 'l2' | 'ip', dimension: number) => Index
}

export interface HnswlibContender extends Contender {
  /** The ten nearest rows. */
  nearest(query: Float32Array, ef: number): readonly number[]
}

export async function openHnswlibNode(set: Dataset): Promise<HnswlibContender> {
  const { dimension, base, queries, truth } = set
  const { HierarchicalNSW } = installed<HnswlibNode>('hnswlib-node', '3.0.0')
  const index = new HierarchicalNSW(set.metric === 'l2' ? 'l2' : 'ip', dimension)
  const rowOf = (rows: Float32Array, i: number) => Array.from(rows.subarray(i * dimension, (i + 1) * dimension))
  const n = base.length / dimension
  const before = process.cpuUsage()
  index.initIndex(n, 16, 128, 100)
  const tell = progress(`${set.name} hnswlib-node`, n)
  for (let i = 0; i < n; i++) {
    index.addPoint(rowOf(base, i), i)
    if (i % 1_000 === 0) tell(i)
  }
  const used = process.cpuUsage(before)
  const nq = queries.length / dimension
  // Its callers pass plain arrays; creating them is not part of a search.
  const queryRows = Array.from({ length: nq }, (_, i) => rowOf(queries, i))
  return {
    name: 'hnswlib-node',
    buildCpuSeconds: (used.user + used.system) / 1e6,
    bytesPerRow: undefined,
    async run(ef, k) {
      const found = new Uint32Array(nq * k)
      index.setEf(Math.max(k, ef))
      const from = performance.now()
      const cpu = process.cpuUsage()
      queryRows.forEach((query, i) => {
        found.set(index.searchKnn(query, k).neighbors, i * k)
      })
      const spent = process.cpuUsage(cpu)
      const wallSeconds = (performance.now() - from) / 1000
      return {
        recall: recallOf(found, truth, { queries: nq, k }),
        wallSeconds,
        cpuSeconds: (spent.user + spent.system) / 1e6,
      }
    },
    nearest(query, ef) {
      index.setEf(ef)
      return index.searchKnn(Array.from(query), 10).neighbors
    },
    async close() {
      // Garbage collection frees the index.
    },
  }
}
