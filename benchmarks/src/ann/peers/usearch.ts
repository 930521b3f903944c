// usearch from its npm package, float32, searched by one thread. Its ef is fixed when an index is opened, so each ef loads the file again.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Dataset } from '../../sets/dataset.ts'
import { progress } from '../../sets/progress.ts'
import { type Contender, recallOf } from '../contender.ts'
import { installed } from './install.ts'

const batch = 10_000

interface Index {
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void
  search(queries: Float32Array, k: number, threads: number): { readonly keys: BigUint64Array }
  save(file: string): void
  load(file: string): void
}

interface Usearch {
  readonly Index: new (options: Readonly<Record<string, unknown>>) => Index
  readonly MetricKind: Readonly<Record<'L2sq' | 'IP', unknown>>
  readonly ScalarKind: Readonly<Record<'F32', unknown>>
}

export async function openUsearch(set: Dataset, threads: number): Promise<Contender> {
  const { dimension, base, queries, truth } = set
  const { Index, MetricKind, ScalarKind } = installed<Usearch>('usearch', '2.26.2')
  const directory = mkdtempSync(join(tmpdir(), 'annal-usearch-'))
  const file = join(directory, 'index')
  const open = (ef: number) =>
    new Index({
      metric: set.metric === 'l2' ? MetricKind.L2sq : MetricKind.IP,
      quantization: ScalarKind.F32,
      dimensions: dimension,
      connectivity: 16,
      expansion_add: 128,
      expansion_search: ef,
      multi: false,
    })
  const built = open(64)
  const n = base.length / dimension
  const before = process.cpuUsage()
  const tell = progress(`${set.name} usearch`, n)
  for (let from = 0; from < n; from += batch) {
    const to = Math.min(n, from + batch)
    const keys = BigUint64Array.from({ length: to - from }, (_, i) => BigInt(from + i))
    built.add(keys, base.subarray(from * dimension, to * dimension), threads)
    tell(to)
  }
  const used = process.cpuUsage(before)
  built.save(file)
  const nq = queries.length / dimension
  return {
    name: 'usearch',
    buildCpuSeconds: (used.user + used.system) / 1e6,
    bytesPerRow: undefined,
    async run(ef, k) {
      const index = open(ef)
      index.load(file)
      const from = performance.now()
      const cpu = process.cpuUsage()
      const { keys } = index.search(queries, k, 1)
      const spent = process.cpuUsage(cpu)
      const wallSeconds = (performance.now() - from) / 1000
      const found = Uint32Array.from(keys, Number)
      return {
        recall: recallOf(found, truth, { queries: nq, k }),
        wallSeconds,
        cpuSeconds: (spent.user + spent.system) / 1e6,
      }
    },
    async close() {
      rmSync(directory, { recursive: true })
    },
  }
}
