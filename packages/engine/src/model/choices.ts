// The values that parameters of a field can take, each with its number on disk: 1 for the first of a list, and so on. Numbers are
// never given to another value; 0 is what damage looks like.
import { assert } from '../errors.ts'

/** How similarity is computed. */
export const spaceTypes = ['cosine', 'l2', 'ip'] as const
/** How similarity is computed: the cosine, the squared distance, or the inner product. */
export type SpaceType = (typeof spaceTypes)[number]

/** What a row keeps in memory. */
export const precisions = ['binary', 'int8', 'int16', 'float16', 'float32', 'int4', 'int2'] as const
/** The encoding of vectors in memory. */
export type Precision = (typeof precisions)[number]

/** How the weights of a sparse field are scaled. */
export const sparseModels = ['default', 'endee_bm25'] as const
/** How the weights of a sparse field are scaled. */
export type SparseModel = (typeof sparseModels)[number]

/** How the members of an object become the one vector that the graph of a multi-vector field holds. */
export const poolings = ['mean', 'max'] as const
/** How members are combined: their mean, or their maximum in each component. */
export type Pooling = (typeof poolings)[number]

/**
 * Whether keys of the precision are estimates from a few bits per dimension, so that searches rescore by default.
 *
 * @example
 * ```ts
 * isCoarse('int4') // true
 * isCoarse('int8') // false
 * ```
 */
export function isCoarse(precision: Precision): boolean {
  return precision === 'binary' || precision === 'int4' || precision === 'int2'
}

/** The number of a value on disk. */
export function numberOf<T extends string>(values: readonly T[], value: T): number {
  return values.indexOf(value) + 1
}

/** The value of a number on disk. Throws on a number that no version has written. */
export function choiceOf<T extends string>(values: readonly T[], number: number): T {
  const value = values[number - 1]
  assert(value !== undefined, `a value is numbered 1 to ${values.length}, not ${number}`)
  return value
}

/** Arenas number the space types differently from log events. */
export const metricNumbers: Readonly<Record<SpaceType, number>> = { l2: 1, ip: 2, cosine: 3 }
