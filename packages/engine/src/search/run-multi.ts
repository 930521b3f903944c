// Runs a search of a multi-vector field. The graph finds candidates by their pooled vectors, and their members, which are read from disk, decide
// which of them are best.
import { unitRows } from '../input/pooling.ts'
import type { ReadableOriginals } from '../replica/readable.ts'
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import { memberBytes } from './answer-room.ts'
import { type FieldAnswer, missingVectorError, ordinalOf, type RunContext } from './field-run.ts'
import { PooledOrder } from './pooled-order.ts'
import { type PooledTask, pooledTask } from './pooled-task.ts'
import { membersOf, rankOriginals, type VectorSource } from './rank-originals.ts'
import type { MultiTask, Task } from './request.ts'
import { addCosts, unresolvedCandidates, withoutOwn } from './rescore.ts'
import { estimateField } from './run-field.ts'

/** Bytes of the members that the repetition of an unresolved search compares. */
const unresolvedBytesMax = 2 ** 24

/** Throws object_not_found or invalid_argument if the query is a stored object without a vector in the field. */
export async function runMulti(task: MultiTask, context: RunContext): Promise<FieldAnswer> {
  const { replica, input } = context
  const { source, definition, fieldIndex } = task
  const { dimension, spaceType } = definition.params
  const originals = replica.originals[fieldIndex] as ReadableOriginals
  const own = source.kind === 'stored' ? ordinalOf(replica, source.id, definition.name) : undefined
  if (own !== undefined && !originals.has(own)) throw missingVectorError(task)
  // Evaluated before waiting, as of the pinned version.
  const all = input.exact ? listMatches(originals, context) : undefined
  const members = source.kind === 'vector' ? source.query : await originals.read(own as number)
  const query = spaceType === 'cosine' ? unitRows(members, dimension) : members
  const search = { originals, own, query }
  const ranked = all
    ? await rankByMembers(task, all, search, context)
    : await runByPooled(task, pooledTask(task, members), search, context)
  if (!input.includeVectors) return ranked
  const read = await readMembers(task, ranked.found.ordinals, context)
  return { ...ranked, ...(read && { members: read }) }
}

/** The members of the objects, if the field has several vectors for each; otherwise undefined. */
export async function readMembers(
  { kind, fieldIndex }: Task,
  ordinals: Uint32Array,
  { replica, room }: RunContext,
): Promise<readonly Float32Array[] | undefined> {
  if (kind !== 'multi') return undefined
  const originals = replica.originals[fieldIndex] as ReadableOriginals
  room?.take(memberBytes(replica, ordinals, fieldIndex))
  return Promise.all(Array.from(ordinals, (ordinal) => originals.read(ordinal)))
}

function listMatches(originals: ReadableOriginals, { replica, matches }: RunContext): FieldAnswer {
  const { bitmap } = matches ?? replica.filters.evaluate([])
  const ordinals = bitmap.toOrdinals().filter((ordinal) => originals.has(ordinal))
  const found = { ordinals, similarities: new Float32Array(ordinals.length), visited: 0, distances: ordinals.length }
  const explanation = {
    plan: 'scan',
    reason: 'exact was requested',
    visited: 0,
    distances: ordinals.length,
    ms: 0,
  } as const
  return { found, complete: true, explanation }
}

interface MultiSearch {
  readonly originals: ReadableOriginals
  /** The object whose vectors are the query. */
  readonly own: number | undefined
  /** The vectors of the query as they are compared. */
  readonly query: Float32Array
}

/** An unresolved search is repeated with more candidates, unless their members are too many to read. */
async function runByPooled(
  task: MultiTask,
  pooled: PooledTask,
  search: MultiSearch,
  context: RunContext,
): Promise<FieldAnswer> {
  const candidates = await findCandidates(pooled, search, context)
  const order = new PooledOrder(candidates.found, task, pooled)
  const ranked = await rankByMembers(task, candidates, search, context, order)
  const isUnresolved = order.isUnresolved || isUnresolvedByRows(task, candidates)
  const { length } = candidates.found.ordinals
  if (!isUnresolved || context.input.rescore === false || length < pooled.k - 1 || length >= unresolvedCandidates)
    return ranked
  if (2 * memberBytes(context.replica, candidates.found.ordinals, task.fieldIndex) > unresolvedBytesMax) return ranked
  const k = Math.min(walkEntriesMax, unresolvedCandidates + 1)
  const more = await findCandidates({ ...pooled, k, ef: k }, search, context)
  return addCosts(await rankByMembers(task, cutToBytes(task, more, context), search, context), ranked)
}

/** Whether the rows in memory order candidates at random, as the kernel tells it. Rows of 32 bits order them by their pooled vectors. */
export function isUnresolvedByRows(
  { definition }: Pick<MultiTask, 'definition'>,
  { found }: { readonly found: { readonly isUnresolved?: boolean } },
): boolean {
  return found.isUnresolved === true && definition.params.precision !== 'float32'
}

async function findCandidates(pooled: PooledTask, { own }: MultiSearch, context: RunContext): Promise<FieldAnswer> {
  const answer = await estimateField(pooled, context)
  return { ...answer, found: { ...answer.found, ...withoutOwn(answer.found, own) } }
}

/** The first candidates, as many as have `unresolvedBytesMax` bytes of members. */
function cutToBytes({ fieldIndex }: MultiTask, answer: FieldAnswer, { replica }: RunContext): FieldAnswer {
  const { ordinals, similarities } = answer.found
  let [bytes, count] = [0, 0]
  for (const ordinal of ordinals) {
    bytes += memberBytes(replica, [ordinal], fieldIndex)
    if (bytes > unresolvedBytesMax) break
    count++
  }
  const found = { ordinals: ordinals.subarray(0, count), similarities: similarities.subarray(0, count) }
  return { ...answer, found: { ...answer.found, ...found } }
}

async function rankByMembers(
  task: MultiTask,
  answer: FieldAnswer,
  { originals, query }: MultiSearch,
  { room }: RunContext,
  order?: PooledOrder,
): Promise<FieldAnswer> {
  const started = performance.now()
  const { ordinals } = answer.found
  const source = watched(membersOf(originals), order)
  const best = await rankOriginals(ordinals, source, { ...task, caller: room }, query)
  const ms = answer.explanation.ms + performance.now() - started
  const explanation = { ...answer.explanation, rescored: ordinals.length, ms }
  return { ...answer, found: { ...answer.found, ...best }, explanation }
}

/** The source, whose rows are added to `order` as they are read. Rows are read in the order of the candidates. */
function watched(source: VectorSource, order: PooledOrder | undefined): VectorSource {
  if (order === undefined) return source
  return {
    ...source,
    read: async (ordinals) => {
      const rows = await source.read(ordinals)
      for (const members of rows) order.add(members)
      return rows
    },
  }
}
