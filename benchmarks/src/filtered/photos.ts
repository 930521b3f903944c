// Fashion-MNIST with its labels.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { shuffled, type Things } from './things.ts'

/** Reads the first `rows` rows of the set. */
export function readPhotos(folder: string, rows: number): Things {
  const read = (file: string) => new Uint8Array(readFileSync(path.join(folder, file)))
  const meta = JSON.parse(readFileSync(path.join(folder, 'meta.json'), 'utf8')) as { n: number; d: number; nq: number }
  const [base, queries] = [read('base.u8'), read('queries.u8')]
  const [labels, queryLabels] = [read('base_labels.u8'), read('query_labels.u8')]
  const [count, dimension] = [Math.min(rows, meta.n), meta.d]
  return {
    title: `Fashion-MNIST, ${count.toLocaleString('en')} x ${dimension}`,
    rows: count,
    queries: meta.nq,
    dimension,
    number: shuffled(count),
    label: (i) => labels[i] as number,
    queryLabel: (i) => queryLabels[i] as number,
    row: (i) => base.subarray(i * dimension, (i + 1) * dimension),
    query: (i) => queries.subarray(i * dimension, (i + 1) * dimension),
  }
}
