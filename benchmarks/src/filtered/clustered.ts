// Generated rows in clusters, of any number: those of the index benchmark, or scattered ones, whose thousand centers are as far from each
// other as possible, so that few links connect clusters. A label covers a tenth of the clusters.
import { makeClustered as makeRows } from '../sets/dataset.ts'
import { dimension, vectorOf } from '../start/objects.ts'
import { shuffled, type Things } from './things.ts'

export function makeClustered(rows: number): Things {
  const { base, queries, baseClusters, queryClusters } = makeRows(rows, dimension, 1)
  const part = (vectors: Float32Array, i: number) => vectors.subarray(i * dimension, (i + 1) * dimension)
  return {
    title: `Clustered, ${rows.toLocaleString('en')} x ${dimension}`,
    rows,
    queries: queryClusters.length,
    dimension,
    number: shuffled(rows),
    label: (i) => (baseClusters[i] as number) % 10,
    queryLabel: (i) => (queryClusters[i] as number) % 10,
    row: (i) => part(base, i),
    query: (i) => part(queries, i),
  }
}

export function makeScattered(rows: number): Things {
  const base = new Float32Array(rows * dimension)
  for (let i = 0; i < rows; i++) base.set(vectorOf(i), i * dimension)
  // Object n is near center n % 1,000, so n % 10 is a label of whole clusters.
  const label = (n: number) => n % 10
  return {
    title: `Scattered, ${rows.toLocaleString('en')} x ${dimension}`,
    rows,
    queries: 1_000,
    dimension,
    number: shuffled(rows),
    label,
    queryLabel: label,
    row: (i) => base.subarray(i * dimension, (i + 1) * dimension),
    // Numbers after the last object, in an order that visits all centers.
    query: (i) => vectorOf(10_000_000 + i),
  }
}
