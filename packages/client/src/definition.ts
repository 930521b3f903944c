// The definition and the description of an index.

import type { Precision, SpaceType } from './model.ts'

/** The name and the parameters of a new index. */
export interface IndexDefinition {
  /** Letters, digits and underscores. */
  readonly name: string
  /** Numbers per vector, 2 to 10,000. */
  readonly dimension: number
  /** Default cosine. */
  readonly spaceType?: SpaceType | undefined
  /** Default int8. */
  readonly precision?: Precision | undefined
  /** Links per node of the graph; default 16. */
  readonly m?: number | undefined
  /** Pool used while the graph is built; default 128. */
  readonly efConstruction?: number | undefined
  /**
   * Keeps the original vectors on disk; default true. `false` uses less disk space, and reads return vectors with the precision of the
   * index.
   */
  readonly keepOriginals?: boolean | undefined
  /** A sparse dimension makes the index hybrid. */
  readonly sparseDimension?: number | undefined
}

/** An index in a list. */
export interface IndexSummary {
  readonly name: string
  readonly dimension: number
  readonly spaceType: SpaceType
  readonly precision: Precision
  readonly m: number
  /** Number of vectors in the index. */
  readonly count: number
  readonly hybrid: boolean
}

/** An index with all its parameters. */
export interface IndexDescription extends IndexSummary {
  readonly efConstruction: number
  /** Whether reads return the original vectors at every precision. */
  readonly keepOriginals: boolean
  /** 0 if the index is not hybrid. */
  readonly sparseDimension: number
}
