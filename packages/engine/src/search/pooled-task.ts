// The search for the candidates of a multi-vector field: of its graph, by the pooled vector of the query.
import { pooled } from '../input/pooling.ts'
import { efMax } from '../limits.ts'
import type { Pooling } from '../model/choices.ts'
import { graphField } from '../model/schema.ts'
import type { DenseTask, MultiTask } from './request.ts'

/**
 * Candidates by pooled vectors for each result. They contain at least 0.95 of the best k by all members, on three sets with k of 10 and 100
 * (benchmarks/results/multi.md). The maximum represents the members less well than the mean.
 */
const candidatesPerResult: Readonly<Record<Pooling, number>> = { mean: 3, max: 6 }

/** A search by a vector. */
export type PooledTask = DenseTask & { readonly source: { readonly kind: 'vector' } }

/**
 * The search for candidates by pooled vectors: all that the walk keeps, and one more, because the object whose vectors are the query may be
 * among them.
 */
export function pooledTask({ fieldIndex, ef, k, definition }: MultiTask, members: Float32Array): PooledTask {
  const query = pooled(members, definition.params).vector
  const candidates = Math.max(k, ef, Math.min(efMax, candidatesPerResult[definition.params.pooling] * k))
  return {
    kind: 'dense',
    fieldIndex,
    k: candidates + 1,
    ef: Math.min(efMax, candidates),
    scoreThreshold: undefined,
    definition: graphField(definition),
    source: { kind: 'vector', query },
  }
}
