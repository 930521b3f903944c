// Orders candidates by the vectors as they came, read from disk: exact similarities for fields that keep less in memory.
import type { Precision, SpaceType } from '../definition.ts'
import type { Originals } from '../replica/originals.ts'
import type { DenseHits } from '../vector/field.ts'
import type { DenseTask, SparseTask } from './request.ts'
import { type FieldAnswer, type RunContext, runField } from './run-field.ts'

/** So many candidates, in the order of the precision, hold the true best k. */
function candidatesFor(k: number, precision: Precision): number {
  return precision === 'binary' ? Math.max(200, 10 * k) : Math.max(48, 2 * k)
}

/** Runs a field and, when asked to, orders its best by the vectors as they came. */
export async function runRescored(task: DenseTask | SparseTask, context: RunContext): Promise<FieldAnswer> {
  const originals = context.replica.originals[task.at]
  if (!context.input.rescore || task.kind === 'sparse' || !originals) return runField(task, context)
  const { k, asked, scoreThreshold, definition } = task
  const candidates = candidatesFor(k, definition.params.precision)
  const wide = { ...task, k: candidates, ef: Math.max(task.ef, candidates), scoreThreshold: undefined }
  const answer = await runField(wide, context)
  const query = asked.kind === 'vector' ? asked.query : await originals.read(context.replica.objects.find(asked.id))
  const ranked = await rankedExactly(originals, query, definition.params.spaceType, answer.found.ordinals)
  const best = ranked.filter((hit) => hit.similarity >= (scoreThreshold ?? Number.NEGATIVE_INFINITY)).slice(0, k)
  const found: DenseHits = {
    ...answer.found,
    ordinals: Uint32Array.from(best, ({ ordinal }) => ordinal),
    similarities: Float32Array.from(best, ({ similarity }) => similarity),
  }
  return { ...answer, found }
}

/** Best first; ties by ordinal. */
async function rankedExactly(originals: Originals, query: Float32Array, spaceType: SpaceType, ordinals: Uint32Array) {
  const exact = await Promise.all(
    Array.from(ordinals, async (ordinal) => ({
      ordinal,
      similarity: similarity(spaceType, query, await originals.read(ordinal)),
    })),
  )
  return exact.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
}

/** Cosine vectors are of unit length already, so cosine is the inner product. */
function similarity(spaceType: SpaceType, a: Float32Array, b: Float32Array): number {
  let sum = 0
  if (spaceType === 'l2') {
    for (let i = 0; i < a.length; i++) sum -= ((a[i] as number) - (b[i] as number)) ** 2
  } else {
    for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  }
  return sum
}
