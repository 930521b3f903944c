// Runs one field of a search. Candidates of a multi-vector field are ordered by all their members, and those of a dense field by
// the original vectors if the search requests it or the precision is binary, int2, or int4. Both are read from disk.
import { unitRows } from '../input/pooling.ts'
import type { ReadableOriginals } from '../replica/readable.ts'
import { memberBytes } from './answer-room.ts'
import { type FieldAnswer, missingVectorError, ordinalOf, type RunContext } from './field-run.ts'
import { pooledTask } from './pooled-task.ts'
import { membersOf, type RankOptions, rankOriginals } from './rank-originals.ts'
import type { MultiTask, Task } from './request.ts'
import { compareOriginals, isRescored, runByRows, runRescored } from './rescore.ts'
import { runField } from './run-field.ts'

/** Searches one field of any kind, exactly or with rescoring if the request or the precision demands it. */
export function runTask(task: Task, context: RunContext): Promise<FieldAnswer> {
  if (task.kind === 'multi') return runMulti(task, context)
  const originals = context.replica.originals[task.fieldIndex]
  // Fields with partial originals compare their rows in memory exactly.
  if (task.kind === 'sparse' || task.kind === 'text' || !originals || originals.owner.isPartial)
    return runField(task, context)
  if (context.input.exact) return compareOriginals(task, originals, context)
  return isRescored(task, context.input) ? runRescored(task, originals, context) : runByRows(task, originals, context)
}

/** The graph finds candidates by their pooled vectors. Their members decide which of them are best. */
async function runMulti(task: MultiTask, context: RunContext): Promise<FieldAnswer> {
  const { replica, input } = context
  const { source, definition, fieldIndex } = task
  const { dimension, spaceType } = definition.params
  const originals = replica.originals[fieldIndex] as ReadableOriginals
  const own = source.kind === 'stored' ? ordinalOf(replica, source.id, definition.name) : undefined
  if (own !== undefined && !originals.has(own)) throw missingVectorError(task)
  // Evaluated before waiting, as of the pinned version.
  const all = input.exact ? listMatches(originals, context) : undefined
  const members = source.kind === 'vector' ? source.query : await originals.read(own as number)
  const answer = all ?? (await runField(pooledTask(task, members), context))
  const query = spaceType === 'cosine' ? unitRows(members, dimension) : members
  const ranked = await rankByMembers({ ...task, caller: context.room }, excludeOrdinal(answer, own), originals, query)
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

function excludeOrdinal(answer: FieldAnswer, own: number | undefined): FieldAnswer {
  const ordinals = answer.found.ordinals.filter((ordinal) => ordinal !== own)
  return { ...answer, found: { ...answer.found, ordinals } }
}

async function rankByMembers(
  task: RankOptions,
  answer: FieldAnswer,
  originals: ReadableOriginals,
  query: Float32Array,
): Promise<FieldAnswer> {
  const started = performance.now()
  const { ordinals } = answer.found
  const best = await rankOriginals(ordinals, membersOf(originals), task, query)
  const ms = answer.explanation.ms + performance.now() - started
  const explanation = { ...answer.explanation, rescored: ordinals.length, ms }
  return { ...answer, found: { ...answer.found, ...best }, explanation }
}
