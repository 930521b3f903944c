// Runs one field of a search: chooses the plan and reports its cost. If at least k objects match, k are found: if an index returns fewer
// than may exist, every match is compared.
import type { ReadableField, ReadableReplica } from '../replica/readable.ts'
import { type DenseHits, noHits, type SparseField } from '../vector/field.ts'
import { type FieldAnswer, type FieldRun, missingVectorError, ordinalOf, type RunContext } from './field-run.ts'
import { type DensePlan, planDense, separated } from './plan.ts'
import type { DenseTask, SparseTask, TextTask } from './request.ts'
import { runText } from './run-text.ts'
import { clampSimilarities, similarityRangeOf } from './similarity-range.ts'

/**
 * Searches one dense, sparse, or text field. Throws object_not_found or invalid_argument if the query is a stored object without a vector in the
 * field.
 */
export async function runField(task: DenseTask | SparseTask | TextTask, context: RunContext): Promise<FieldAnswer> {
  return run(task, context, (found) => {
    if (task.kind === 'dense') clampSimilarities(found.similarities, similarityRangeOf(task.definition.params))
  })
}

/** Like `runField`, but similarities are estimates as codes tell them, which may be outside of the range of the space. */
export function estimateField(task: DenseTask, context: RunContext): Promise<FieldAnswer> {
  return run(task, context, () => undefined)
}

async function run(
  task: DenseTask | SparseTask | TextTask,
  context: RunContext,
  clamp: (found: DenseHits) => void,
): Promise<FieldAnswer> {
  const started = performance.now()
  const own =
    task.source.kind === 'stored' ? ordinalOf(context.replica, task.source.id, task.definition.name) : undefined
  // The object whose vector is the query is one of the nearest, and is excluded.
  const k = own === undefined ? task.k : task.k + 1
  const { found, explanation, complete, matched } = await runKind(task, k, context)
  clamp(found)
  const hits = trimHits(found, { k: task.k, without: own, threshold: task.scoreThreshold })
  const ms = performance.now() - started
  const { visited, distances } = found
  return { found: hits, complete, explanation: { ...explanation, visited, distances, ms }, ...(matched && { matched }) }
}

function runKind(task: DenseTask | SparseTask | TextTask, k: number, context: RunContext): Promise<FieldRun> {
  if (task.kind === 'dense') return runDense(task, k, context)
  return task.kind === 'text' ? runText(task, k, context) : runSparse(task, k, context)
}

async function runDense(
  task: DenseTask,
  k: number,
  { replica, version, matches, input, room: caller }: RunContext,
): Promise<FieldRun> {
  const field = replica.dense[task.fieldIndex] as ReadableField
  const rows = replica.rowsAt(task.fieldIndex)
  const { boostPercentage, prefilterThreshold, exact } = input
  const query = task.source.kind === 'vector' ? task.source.query : rowOf(field, replica, task.source.id, task)
  const ef = Math.max(task.ef, k)
  const planInput = { rows, matches: matches?.count, ef, boostPercentage, prefilterThreshold, exact }
  const plan = planDense(planInput)
  const explanation = explainPlan(plan)
  if (plan.kind === 'nothing') return { found: noHits, complete: true, explanation }
  const scan = async () => {
    const ordinals = matches?.bitmap.toOrdinals()
    const all = await field.scan(query, { k, version, caller, ...(ordinals && { ordinals }) })
    return { ...all, distances: Math.max(all.distances, Math.min(rows, matches?.count ?? rows)) }
  }
  if (plan.kind === 'scan') return { found: await scan(), complete: true, explanation }
  const found = await field.search(query, {
    k,
    ef: plan.ef ?? ef,
    version,
    caller,
    ...(matches && { allowed: matches.bitmap }),
    ...(plan.kind === 'compare' && { compared: matches?.count ?? rows }),
  })
  if (plan.kind === 'compare') return { found, complete: true, explanation }
  if (found.ordinals.length >= Math.min(k, matches?.count ?? rows, rows)) return { found, complete: true, explanation }
  // The walk found fewer rows than may exist, so every match is compared.
  const reason = `${plan.reason}; the walk found ${separated(found.ordinals.length)}, so every match was compared`
  return { found: addCost(await scan(), found), complete: true, explanation: { ...explanation, plan: 'scan', reason } }
}

/** The hits of `hits` with the cost of both searches. */
function addCost(hits: DenseHits, cost: DenseHits): DenseHits {
  return { ...hits, visited: hits.visited + cost.visited, distances: hits.distances + cost.distances }
}

function explainPlan({ kind, reason, ef, costs }: DensePlan): FieldRun['explanation'] {
  return { plan: kind === 'compare' ? 'scan' : kind, reason, ...(ef !== undefined && { ef }), ...(costs && { costs }) }
}

async function runSparse(
  task: SparseTask,
  k: number,
  { replica, version, matches, room: caller }: RunContext,
): Promise<FieldRun> {
  const field = replica.sparse[task.fieldIndex] as SparseField
  if (matches?.count === 0)
    return { found: noHits, complete: true, explanation: { plan: 'nothing', reason: 'no object matches the filter' } }
  const query = task.source.kind === 'vector' ? task.source.query : termsOf(replica, task, task.source.id)
  const found = await field.search(query, { k, version, caller, ...(matches && { allowed: matches.bitmap }) })
  return { found, complete: true, explanation: { plan: 'lists', reason: 'inverted lists are exact' } }
}

function rowOf(field: ReadableField, replica: ReadableReplica, id: string, task: DenseTask): Float32Array {
  const ordinal = replica.findStored(id)
  const row = field.has(ordinal, replica.version) ? field.row(ordinal) : undefined
  if (row !== undefined) return row
  throw missingVectorError(task)
}

function termsOf(
  replica: ReadableReplica,
  task: SparseTask,
  id: string,
): { indices: Uint32Array; values: Float32Array } {
  const terms = replica.objects.sparse(replica.findStored(id)).find(({ field }) => field === task.fieldIndex)
  if (terms !== undefined) return terms
  throw missingVectorError(task)
}

/** The best k hits, without the ordinal `without` and without hits below the threshold. */
function trimHits(
  found: DenseHits,
  cut: { readonly k: number; readonly without: number | undefined; readonly threshold: number | undefined },
): DenseHits {
  const { k, without, threshold = Number.NEGATIVE_INFINITY } = cut
  if (without === undefined && threshold === Number.NEGATIVE_INFINITY && found.ordinals.length <= k) return found
  const kept = [...found.ordinals.keys()]
    .filter((i) => found.ordinals[i] !== without && (found.similarities[i] as number) >= threshold)
    .slice(0, k)
  if (kept.length === found.ordinals.length) return found
  return {
    ...found,
    ordinals: Uint32Array.from(kept, (i) => found.ordinals[i] as number),
    similarities: Float32Array.from(kept, (i) => found.similarities[i] as number),
  }
}
