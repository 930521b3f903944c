// Runs one field of a search. Candidates of a multi-vector field are ordered by all their members, and those of a dense field by
// the original vectors if the search requests it or the precision is binary, int2, or int4. Both are read from disk.
import type { FieldAnswer, RunContext } from './field-run.ts'
import type { Task } from './request.ts'
import { compareOriginals, isRescored, runByRows, runRescored } from './rescore.ts'
import { runField } from './run-field.ts'
import { runMulti } from './run-multi.ts'

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
