// One search, from the checked request to hits: pin a version, evaluate the filter, run each field by the cheapest plan,
// decorate, fuse, let go. The result shows the collection as of one version.
import type { TimeSlice } from '@annal/wal'
import type { AnswerRoom, SearchHit, SearchResult } from '../model/query.ts'
import type { Replica } from '../replica/replica.ts'
import { hitBytes } from './answer-room.ts'
import { fuse } from './fuse.ts'
import { hitsOf, vectorFieldOf } from './hits.ts'
import { needsWholeVersion, type SearchPlanInput, type Task } from './request.ts'
import type { FieldAnswer, Matches, RunContext } from './run-field.ts'
import { runTask } from './run-task.ts'

export interface SearchCaller {
  /** Asked before hits are made; an answer may take anything when it is not given. */
  readonly room?: AnswerRoom | undefined
  /** Shared by searches whose hits are made one after another. */
  readonly slice?: TimeSlice | undefined
}

export async function search(
  replica: Replica,
  input: SearchPlanInput,
  { room, slice }: SearchCaller = {},
): Promise<SearchResult> {
  const started = performance.now()
  if (needsWholeVersion(input)) replica.publish()
  const version = replica.version
  const lsn = replica.lsnApplied
  const release = replica.pins.pin(version)
  try {
    const matches = input.filter && replica.matches.matchesOf(input.filter, version)
    const filterMs = performance.now() - started
    const context = { replica, version, matches, input, room }
    const [only] = input.tasks
    // One field alone, as most searches ask, without the machinery for several.
    const answers =
      input.tasks.length === 1 && only
        ? [{ task: only, answer: await runTask(only, context) }]
        : await answersOf(input, context)
    const searched = performance.now()
    if (room) for (const { task, answer } of answers) room.take(bytesOf(replica, task, answer, input))
    if (slice) await slice.renewIfOver()
    const { includeVectors } = input
    const lists: [string, SearchHit[]][] = []
    for (const { task, answer } of answers)
      lists.push([task.definition.name, await hitsOf(replica, task, answer, { includeVectors, version })])
    const results = Object.fromEntries(lists)
    const decorated = performance.now()
    const fused = input.fusion && fusedOf(results, input.fusion)
    const ended = performance.now()
    return {
      results,
      ...(fused && { fused }),
      complete: answers.every(({ answer }) => answer.complete),
      ...(input.explain && {
        explain: {
          filter: filterOf(matches, filterMs),
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

function bytesOf(replica: Replica, task: Task, { found }: FieldAnswer, { includeVectors }: SearchPlanInput): number {
  const fieldIndex = vectorFieldOf(replica, task)
  let bytes = 0
  for (const ordinal of found.ordinals) bytes += hitBytes(replica, ordinal, fieldIndex, includeVectors)
  return bytes
}

interface Answered {
  readonly task: Task
  readonly answer: FieldAnswer
}

/** Fields side by side. */
function answersOf({ tasks }: SearchPlanInput, context: RunContext): Promise<readonly Answered[]> {
  return Promise.all(tasks.map(async (task) => ({ task, answer: await runTask(task, context) })))
}

function filterOf(matches: Matches | undefined, ms: number) {
  return matches && { matches: matches.count, ms }
}

function fusedOf(
  results: { readonly [field: string]: readonly SearchHit[] },
  { method, weights, limit }: NonNullable<SearchPlanInput['fusion']>,
) {
  const lists = Object.entries(results).map(([field, hits]) => ({ field, weight: weights.get(field) ?? 1, hits }))
  return fuse(lists, method, limit)
}
