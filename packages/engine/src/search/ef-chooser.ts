// What a search that states a recall needs to know its ef.
import type { SearchRecall } from '../model/calibration.ts'
import type { DenseFieldSchema } from '../model/schema.ts'

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
