// What the search of one field gets, and what it returns.
import { EngineError } from '../errors.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import type { AnswerRoom } from '../model/reads.ts'
import type { FieldExplanation } from '../model/search-result.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import type { DenseHits } from '../vector/field.ts'
import type { Expansions } from './expand-terms.ts'
import type { SearchPlanInput, Task } from './request.ts'

/** The objects that match the filter, and their exact number. */
export interface Matches {
  readonly bitmap: Bitmap
  readonly count: number
}

/** What all fields of one search share: the replica, the pinned version, and the matches of the filter. */
export interface RunContext {
  readonly replica: ReadableReplica
  readonly version: number
  readonly matches: Matches | undefined
  readonly input: SearchPlanInput
  readonly room: AnswerRoom | undefined
  /** The terms of clauses that stand for several. */
  readonly expansions?: Expansions | undefined
}

/** The result of a search in one field. */
export interface FieldAnswer {
  readonly found: DenseHits
  /** Whether all requested hits were found, or all that exist. */
  readonly complete: boolean
  readonly explanation: FieldExplanation
  /** The members of each hit of a multi-vector field, one after another, if vectors are requested. */
  readonly members?: readonly Float32Array[]
  /** The terms that were found, in a text field. */
  readonly matched?: ReadonlySet<string>
}

/** A search of one field before its hits are cut. */
export interface FieldRun {
  readonly found: DenseHits
  readonly complete: boolean
  readonly explanation: Omit<FieldExplanation, 'visited' | 'distances' | 'ms'>
  /** The terms that were found, in a text field. */
  readonly matched?: ReadonlySet<string>
}

/** The ordinal of the object whose vector is the query of a field. Throws object_not_found. */
export function ordinalOf(replica: ReadableReplica, id: string, field: string): number {
  const ordinal = replica.find(id)
  if (ordinal >= 0) return ordinal
  throw new EngineError('object_not_found', `there is no object with id ${JSON.stringify(id)} to search with`, {
    field: `fields.${field}.query.id`,
    value: id,
  })
}

/** The error for a search by a stored object that has no vector in the field. */
export function missingVectorError({ definition, source }: Task): EngineError {
  const id = source.kind === 'stored' ? source.id : ''
  const message = `object ${JSON.stringify(id)} has no vector in field ${definition.name}`
  return new EngineError('invalid_argument', message, { field: `fields.${definition.name}.query.id`, value: id })
}
