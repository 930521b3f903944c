// What a search that states a recall needs to know its ef.
import type { SearchRecall } from '../model/calibration.ts'
import type { DenseFieldSchema } from '../model/schema.ts'
import type { SearchPlanInput, Task } from './request.ts'
import { isRescored } from './rescore.ts'

/** A search in a dense field that states a recall. */
export interface RecallSearch {
  readonly fieldIndex: number
  readonly definition: DenseFieldSchema
  readonly k: number
  readonly target: number
  readonly rescore: boolean
  /** Number of objects that match; undefined without a filter. */
  readonly matches: number | undefined
  /** The vector that is searched for, unless it is a stored one. */
  readonly query: Float32Array | undefined
}

/** Chooses ef for searches that state a recall. */
export interface EfChooser {
  choose(search: RecallSearch): SearchRecall
}

/** The tasks with the ef that reaches their recall, and how it was chosen. Exact searches need no ef. */
export function chooseEfs(
  input: SearchPlanInput,
  matches: number | undefined,
  chooser: EfChooser | undefined,
): { readonly tasks: readonly Task[]; readonly recall?: Record<string, SearchRecall> } {
  const { tasks, exact } = input
  if (chooser === undefined || exact || !tasks.some((task) => task.kind === 'dense' && task.recall !== undefined))
    return input
  const recall: Record<string, SearchRecall> = {}
  const chosen = tasks.map((task): Task => {
    if (task.kind !== 'dense' || task.recall === undefined) return task
    const { fieldIndex, definition, k, source } = task
    const choice = chooser.choose({
      ...{ fieldIndex, definition, k, matches },
      target: task.recall,
      rescore: isRescored(task, input),
      query: source.kind === 'vector' ? source.query : undefined,
    })
    recall[definition.name] = choice
    return { ...task, ef: choice.ef }
  })
  return { tasks: chosen, recall }
}
