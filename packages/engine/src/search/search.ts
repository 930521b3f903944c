// Runs one search, from the checked request to hits: pins a version, evaluates the filter, runs each field by its cheapest plan, loads the
// objects of the hits, fuses the lists, and releases the version. The result shows the collection as of one version.
import { TimeSlice } from '@annal/wal'
import type { Filter } from '../filter/condition.ts'
import { objectOverheadBytes } from '../limits.ts'
import type { AnswerRoom } from '../model/reads.ts'
import type { FusedHit, HitGroup, SearchHit, SearchResult } from '../model/search-result.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { refuseWhenLeft } from '../vector/caller.ts'
import { hitBytes, RepeatableRoom } from './answer-room.ts'
import { errorOfSearch } from './batch-errors.ts'
import { chooseEfs, type EfChooser } from './ef-chooser.ts'
import { type Expansions, prepareTexts } from './expand-terms.ts'
import { findGroupable } from './field-groups.ts'
import type { FieldAnswer, Matches, RunContext } from './field-run.ts'
import { fuseResults } from './fuse.ts'
import { createHits, vectorFieldOf } from './hits.ts'
import { type GroupPlan, needsWholeVersion, type SearchPlanInput, type Task } from './request.ts'
import { type GroupedAnswers, groupFused, groupsOf, runGroups } from './run-groups.ts'
import { runTask } from './run-task.ts'

/** The filter that all objects match. */
const everything: Filter = []

/** Limits that the caller of a search sets. */
export interface SearchCaller {
  /** Checked before hits are created. Without it, an answer may have any size. */
  readonly room?: AnswerRoom | undefined
  /** Shared by searches whose hits are created one after another. */
  readonly slice?: TimeSlice | undefined
  /** Chooses ef for fields whose query states a recall. Without it, they use the default ef. */
  readonly calibrator?: EfChooser | undefined
  /** What texts need that was prepared in this turn. */
  readonly expansions?: Expansions | undefined
}

/**
 * Runs a checked search. Throws object_not_found or invalid_argument for a stored query, and the errors of `room` if the answer is too
 * large.
 */
export async function search(
  replica: ReadableReplica,
  input: SearchPlanInput,
  { room, slice, calibrator, expansions }: SearchCaller = {},
): Promise<SearchResult> {
  refuseWhenLeft(room)
  const started = performance.now()
  if (needsWholeVersion(input)) replica.publish()
  // Objects that have expired are rows that a filter excludes. Before the version, because it may complete a publication.
  const { expired } = replica
  const version = replica.version
  const lsn = replica.lsnApplied
  const release = replica.pins.pin(version)
  try {
    const filter = input.filter ?? (expired && everything)
    const matches = filter && replica.matches.matchesOf(filter, version, expired)
    const filterMs = performance.now() - started
    const context = { replica, version, matches, input, room, expansions }
    const { tasks, recall } = chooseEfs(input, matches?.count, calibrator)
    const { groups: plan } = input
    const grouped = plan && (await runGroups(tasks, context, findGroupable(context, plan.key, expired), plan))
    const answers = grouped?.answers ?? (await runTasks(tasks, context))
    const searched = performance.now()
    if (room) for (const { task, answer } of answers) room.take(resultBytes(replica, task, answer, input))
    if (slice) await slice.renewIfOver()
    const contents = { vectors: input.includeVectors, texts: input.includeTexts, version }
    const lists: [string, SearchHit[]][] = []
    for (const { task, answer } of answers)
      lists.push([task.definition.name, await createHits(replica, task, answer, contents)])
    const results = Object.fromEntries(lists)
    const decorated = performance.now()
    const fused =
      input.fusion && fuseResults(results, plan ? { ...input.fusion, limit: Number.POSITIVE_INFINITY } : input.fusion)
    const ended = performance.now()
    return {
      results,
      ...(fused && { fused }),
      ...(plan && grouped && groupResults(results, fused, grouped, plan)),
      complete: answers.every(({ answer }) => answer.complete),
      ...(recall && { recall }),
      ...(input.explain && {
        explain: {
          filter: explainFilter(input.filter && matches, filterMs),
          fields: Object.fromEntries(answers.map(({ task, answer }) => [task.definition.name, answer.explanation])),
          decorateMs: decorated - searched,
          fuseMs: ended - decorated,
          totalMs: ended - started,
        },
      }),
      lsn,
    }
  } finally {
    release()
  }
}

/**
 * Runs checked searches that begin in one turn, all of one version. Ends when all have, also if one fails: a search that was left running
 * would read a version that is no longer held. Errors of several searches name the position of theirs.
 */
export async function searchAll(
  replica: ReadableReplica,
  inputs: readonly SearchPlanInput[],
  given: Omit<SearchCaller, 'slice' | 'expansions'>,
): Promise<readonly SearchResult[]> {
  const preparing = prepareTexts(inputs, replica)
  const caller = preparing ? { ...given, expansions: await preparing } : given
  const [only] = inputs
  if (inputs.length === 1 && only) return [await search(replica, only, caller)]
  const slice = new TimeSlice()
  const room = given.room && roomOfBatch(given.room, replica, inputs)
  const ends = await Promise.allSettled(inputs.map((input) => search(replica, input, { ...caller, room, slice })))
  return ends.map((end, i) => {
    if (end.status === 'fulfilled') return end.value
    throw errorOfSearch(i, end.reason)
  })
}

/**
 * Takes what the hits will need at least, before any search runs: batches that run at the same time would otherwise be refused by what each has
 * taken when most of its searches have run.
 */
function roomOfBatch(room: AnswerRoom, { objects }: ReadableReplica, inputs: readonly SearchPlanInput[]): AnswerRoom {
  const hits = inputs.flatMap(({ tasks }) => tasks.map(({ k }) => Math.min(k, objects.ordinalEnd)))
  const prepaid = new RepeatableRoom(room)
  prepaid.take(objectOverheadBytes * hits.reduce((sum, each) => sum + each, 0))
  prepaid.repeat()
  return prepaid
}

function resultBytes(
  replica: ReadableReplica,
  task: Task,
  { found }: FieldAnswer,
  { includeVectors: vectors, includeTexts: texts }: SearchPlanInput,
): number {
  const fieldIndex = vectorFieldOf(replica, task)
  let bytes = 0
  for (const ordinal of found.ordinals) bytes += hitBytes(replica, ordinal, fieldIndex, { vectors, texts })
  return bytes
}

interface TaskAnswer {
  readonly task: Task
  readonly answer: FieldAnswer
}

/** Runs the fields concurrently. */
async function runTasks(tasks: readonly Task[], context: RunContext): Promise<readonly TaskAnswer[]> {
  const [only] = tasks
  // Most searches have one field.
  if (tasks.length === 1 && only) return [{ task: only, answer: await runTask(only, context) }]
  return Promise.all(tasks.map(async (task) => ({ task, answer: await runTask(task, context) })))
}

/** The groups of a result; the fused list has only hits of groups. */
function groupResults(
  results: { readonly [field: string]: readonly SearchHit[] },
  fused: readonly FusedHit[] | undefined,
  { answers, fusedValues }: GroupedAnswers,
  plan: GroupPlan,
): Pick<SearchResult, 'groups' | 'fused' | 'fusedGroups'> {
  const groups = answers.map(({ task: { definition }, answer }): [string, HitGroup<SearchHit>[]] => [
    definition.name,
    groupsOf(results[definition.name] ?? [], answer),
  ])
  return { groups: Object.fromEntries(groups), ...(fused && fusedValues && groupFused(fused, fusedValues, plan)) }
}

function explainFilter(matches: Matches | undefined, ms: number) {
  return matches && { matches: matches.count, ms }
}
