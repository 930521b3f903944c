// Objects whose vector, meta, and filter name their version, so that a hit shows whether its parts belong together.
import { seededRandom } from '@annal/wal/testing'

export const dimension = 16

/** Of one object. `change` counts the updates of its filter. */
export interface ObjectState {
  readonly isStored: boolean
  readonly version: number
  readonly change: number
}

/** The versions of an object are near each other, and far from other objects. */
export function vectorOf(object: number, version: number): number[] {
  const [base, own] = [seededRandom(object + 1), seededRandom(object * 100_003 + version)]
  return Array.from({ length: dimension }, () => Math.fround(20 * base.next() + own.next()))
}

export function objectOf(object: number, version: number) {
  return {
    id: `o${object}`,
    meta: { object, version, text: 'x'.repeat((object * 37) % 300) },
    filter: filterOf(version, 0),
    fields: { v: vectorOf(object, version), s: sparseOf(termsOf(object, version)) },
  }
}

export type Terms = readonly (readonly [index: number, weight: number])[]

/**
 * One index of the object with more weight than all others together, and three that it shares with other objects or versions. Weights are
 * quarters, so that sums of products have no error.
 */
export function termsOf(object: number, version: number): Terms {
  return [
    [object % 7, 0.25 * (1 + (version % 5))],
    [10 + (version % 11), 0.5],
    [30 + ((object + version) % 20), 0.75],
    [100 + object, 4],
  ]
}

export function sparseOf(terms: Terms) {
  return { indices: terms.map(([index]) => index), values: terms.map(([, weight]) => weight) }
}

export function filterOf(version: number, change: number) {
  return { version, change, parity: change % 2 }
}

export interface Hit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly meta: { readonly object: number; readonly version: number; readonly text: string }
  readonly filter: { readonly version: number; readonly change: number; readonly parity: number }
}

/** Why the parts of a hit do not belong to one version, or undefined. */
export function tornPart({ id, distance, meta, filter }: Hit, query: readonly number[]): string | undefined {
  const torn = mixedPart({ id, meta, filter })
  if (torn !== undefined) return torn
  const { object, version } = meta
  const exact = vectorOf(object, version).reduce((sum, x, i) => sum + (x - query[i]!) ** 2, 0)
  const isNear = Math.abs(distance - exact) <= 1e-4 * Math.max(1, exact)
  return isNear ? undefined : `${id}, version ${version}, has the distance ${distance}, exact is ${exact}`
}

/** The same for a hit of the sparse field. */
export function tornTerms({ id, similarity, meta, filter }: Hit, query: Terms): string | undefined {
  const torn = mixedPart({ id, meta, filter })
  if (torn !== undefined) return torn
  const weights = new Map(query)
  const exact = termsOf(meta.object, meta.version).reduce((sum, [i, x]) => sum + x * (weights.get(i) ?? 0), 0)
  return similarity === exact
    ? undefined
    : `${id}, version ${meta.version}, has the similarity ${similarity}, exact is ${exact}`
}

/** Why id, meta, and filter do not belong to one version, or undefined. */
export function mixedPart({ id, meta, filter }: Pick<Hit, 'id' | 'meta' | 'filter'>): string | undefined {
  const { object, version, text } = meta
  if (id !== `o${object}`) return `the id ${id} has the meta of o${object}`
  if (text.length !== (object * 37) % 300) return `the meta of ${id} has a text of ${text.length} characters`
  if (filter.version !== version)
    return `${id} has meta of version ${version} and a filter of version ${filter.version}`
  return filter.parity === filter.change % 2 ? undefined : `the filter of ${id} is mixed`
}
