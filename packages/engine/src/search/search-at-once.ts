// A search that completes in one turn of the event loop: words in one text field, whose lists are short enough for the calling thread. Promises
// would take longer than the rest of the search.
import type { AnswerRoom } from '../model/reads.ts'
import type { SearchResult } from '../model/search-result.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { type DenseHits, noHits, type SparseField } from '../vector/field.ts'
import { hitBytes } from './answer-room.ts'
import { hitsOf, vectorFieldOf } from './hits.ts'
import { plainQuery, plainTerms } from './plain-terms.ts'
import type { SearchPlanInput, TextTask } from './request.ts'

/**
 * Runs a checked search in this turn, so that no version has to be pinned. Undefined: `search` must run it. Throws the errors of `room` if the
 * answer is too large.
 */
export function searchAtOnce(
  replica: ReadableReplica,
  input: SearchPlanInput,
  room: AnswerRoom | undefined,
): SearchResult | undefined {
  const [task] = input.tasks
  if (task?.kind !== 'text' || !isBare(input, task) || replica.expired !== undefined) return undefined
  const found = findAtOnce(replica, task)
  if (found === undefined) return undefined
  const { version, lsnApplied: lsn } = replica
  const fieldIndex = vectorFieldOf(replica, task)
  if (room) for (const ordinal of found.ordinals) room.take(hitBytes(replica, ordinal, fieldIndex))
  return { results: { [task.definition.name]: hitsOf(replica, task, { found }, version) }, complete: true, lsn }
}

/** Whether the request wants the best hits of one field and nothing else. */
function isBare(input: SearchPlanInput, { options, scoreThreshold }: TextTask): boolean {
  const { tasks, filter, fusion, groups, includeVectors, includeTexts, explain } = input
  const isMore = filter || fusion || groups || includeVectors || includeTexts || explain || options.highlight
  return tasks.length === 1 && !isMore && scoreThreshold === undefined
}

/** Undefined: the query is more than terms, or a worker reads its lists. */
function findAtOnce(replica: ReadableReplica, task: TextTask): DenseHits | undefined {
  const { fieldIndex, source, k } = task
  const terms = source.kind === 'vector' ? plainTerms(source.query) : undefined
  if (terms === undefined) return undefined
  const query = plainQuery(terms, task, replica)
  if (query === undefined) return noHits
  return (replica.sparse[fieldIndex] as SparseField).searchAtOnce(query, { k, version: replica.version })
}
