// Made-up things around a thousand centres, any number of them; a label is that of a hundred centres.
import { dimension, vectorOf } from '../start/objects.ts'
import { shuffled, type Things } from './things.ts'

const queries = 1_000

export function makeClustered(rows: number): Things {
  const base = new Float32Array(rows * dimension)
  for (let i = 0; i < rows; i++) base.set(vectorOf(i), i * dimension)
  // Object n lies around centre n % 1,000, so n % 10 is a label of whole clusters.
  const label = (n: number) => n % 10
  return {
    title: `Clustered, ${rows.toLocaleString('en')} x ${dimension}`,
    rows,
    queries,
    dimension,
    number: shuffled(rows),
    label,
    queryLabel: label,
    row: (i) => base.subarray(i * dimension, (i + 1) * dimension),
    // Beyond the last object, in an order that visits all centres.
    query: (i) => vectorOf(10_000_000 + i),
  }
}
