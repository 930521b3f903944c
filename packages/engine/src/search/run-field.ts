// One field of a search: by which plan, over which rows, and what it cost. If at least k objects match, k are found: where an
// index gives fewer than there can be, every match is compared.
import { EngineError } from '../errors.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import type { AnswerRoom, FieldExplanation } from '../model/query.ts'
import type { Replica } from '../replica/replica.ts'
import type { DenseField, DenseHits, SparseField } from '../vector/field.ts'
import { type DensePlan, planDense } from './plan.ts'
import type { DenseTask, SearchPlanInput, SparseTask, Task } from './request.ts'

/** What the filter leaves, counted exactly. */
export interface Matches {
  readonly bitmap: Bitmap
  readonly count: number
}

export interface RunContext {
  readonly replica: Replica
  readonly version: number
  readonly matches: Matches | undefined
  readonly input: SearchPlanInput
  readonly room: AnswerRoom | undefined
}

export interface FieldAnswer {
  readonly found: DenseHits
  /** As many as asked for, or all there are. */
  readonly complete: boolean
  readonly explanation: FieldExplanation
  /** The members of each hit of a multi-vector field, one after another, where vectors are wanted. */
  readonly members?: readonly Float32Array[]
}

const noHits: DenseHits = {
  ordinals: new Uint32Array(0),
  similarities: new Float32Array(0),
  visited: 0,
  distances: 0,
}

export async function runField(task: DenseTask | SparseTask, context: RunContext): Promise<FieldAnswer> {
  const started = performance.now()
  const own = task.source.kind === 'stored' ? ordinalOf(context.replica, task.source.id) : undefined
  // The object asked with is among its own nearest, and left out.
  const k = own === undefined ? task.k : task.k + 1
  const { found, explanation, complete } =
    task.kind === 'dense' ? await runDense(task, k, context) : await runSparse(task, k, context)
  const hits = trimmed(found, { k: task.k, without: own, threshold: task.scoreThreshold })
  const ms = performance.now() - started
  const { visited, distances } = found
  return { found: hits, complete, explanation: { ...explanation, visited, distances, ms } }
}

interface Ran {
  readonly found: DenseHits
  readonly complete: boolean
  readonly explanation: Omit<FieldExplanation, 'visited' | 'distances' | 'ms'>
}

async function runDense(task: DenseTask, k: number, { replica, version, matches, input }: RunContext): Promise<Ran> {
  const field = replica.dense[task.fieldIndex] as DenseField
  const rows = replica.rowsAt(task.fieldIndex)
  const { boostPercentage, prefilterThreshold, exact } = input
  const query = task.source.kind === 'vector' ? task.source.query : rowOf(field, replica, task.source.id, task)
  const ef = Math.max(task.ef, k)
  const planInput = { rows, matches: matches?.count, ef, boostPercentage, prefilterThreshold, exact }
  const plan = planDense(planInput)
  const explanation = explained(plan)
  if (plan.kind === 'nothing') return { found: noHits, complete: true, explanation }
  const scan = async () => {
    const all = await field.scan(query, { k, version, ...(matches && { ordinals: matches.bitmap.toOrdinals() }) })
    return { ...all, distances: Math.max(all.distances, Math.min(rows, matches?.count ?? rows)) }
  }
  if (plan.kind === 'scan') return { found: await scan(), complete: true, explanation }
  const found = await field.search(query, {
    k,
    ef: plan.ef ?? ef,
    version,
    ...(matches && { allowed: matches.bitmap }),
    ...(plan.kind === 'compare' && { compared: matches?.count ?? rows }),
  })
  if (plan.kind === 'compare') return { found, complete: true, explanation }
  if (found.ordinals.length >= Math.min(k, matches?.count ?? rows, rows)) return { found, complete: true, explanation }
  // The walk gave fewer than there can be; a comparison of every match proves how many there are.
  const reason = `${plan.reason}; the walk found ${found.ordinals.length}, so every match was compared`
  return { found: added(await scan(), found), complete: true, explanation: { ...explanation, plan: 'scan', reason } }
}

/** The hits of the first, with the cost of both. */
function added(hits: DenseHits, cost: DenseHits): DenseHits {
  return { ...hits, visited: hits.visited + cost.visited, distances: hits.distances + cost.distances }
}

function explained({ kind, reason, ef, costs }: DensePlan): Ran['explanation'] {
  return { plan: kind === 'compare' ? 'scan' : kind, reason, ...(ef !== undefined && { ef }), ...(costs && { costs }) }
}

async function runSparse(task: SparseTask, k: number, { replica, version, matches }: RunContext): Promise<Ran> {
  const field = replica.sparse[task.fieldIndex] as SparseField
  if (matches?.count === 0)
    return { found: noHits, complete: true, explanation: { plan: 'nothing', reason: 'no object matches the filter' } }
  const query = task.source.kind === 'vector' ? task.source.query : termsOf(replica, task, task.source.id)
  const found = await field.search(query, { k, version, ...(matches && { allowed: matches.bitmap }) })
  return { found, complete: true, explanation: { plan: 'lists', reason: 'inverted lists are exact' } }
}

export function ordinalOf(replica: Replica, id: string): number {
  const ordinal = replica.find(id)
  if (ordinal >= 0) return ordinal
  throw new EngineError('object_not_found', `there is no object with id ${JSON.stringify(id)} to search with`, {
    value: id,
  })
}

function rowOf(field: DenseField, replica: Replica, id: string, task: DenseTask): Float32Array {
  const ordinal = replica.find(id)
  const row = field.has(ordinal, replica.version) ? field.row(ordinal) : undefined
  if (row !== undefined) return row
  throw withoutField(task)
}

function termsOf(replica: Replica, task: SparseTask, id: string): { indices: Uint32Array; values: Float32Array } {
  const terms = replica.objects.sparse(replica.find(id)).find(({ field }) => field === task.fieldIndex)
  if (terms !== undefined) return terms
  throw withoutField(task)
}

/** What a search with a stored object is answered when the object has nothing to search with. */
export function withoutField({ definition, source }: Task): EngineError {
  const id = source.kind === 'stored' ? source.id : ''
  const message = `object ${JSON.stringify(id)} has no vector in field ${definition.name}`
  return new EngineError('invalid_argument', message, { field: `query for ${definition.name}`, value: id })
}

/** The k best without the object asked with and without what is less similar than the threshold. */
function trimmed(
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
