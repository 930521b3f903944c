// The required behavior of the engine, with Maps and loops. The engine is compared with it after every operation.
import type { Filter } from '@annal/engine'
export interface ModelObject {
  readonly vector: readonly number[]
  /** Members in the multi-vector field; empty for an object without it. */
  readonly members: readonly (readonly number[])[]
  /** Weights by index in the sparse field; empty for an object without it. */
  readonly terms: Terms
  /** In the text field; null for an object without it. */
  readonly text: string | null
  readonly meta: { readonly n: number }
  readonly filter: { readonly tag?: string; readonly n?: number; readonly on?: boolean }
  /** Milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number
}

export type Terms = readonly (readonly [index: number, weight: number])[]

/** The dot product, or undefined if they have no index in common. */
export function sparseScore(a: Terms, b: Terms): number | undefined {
  const weights = new Map(b)
  const common = a.filter(([index]) => weights.has(index))
  return common.length === 0
    ? undefined
    : common.reduce((sum, [index, x]) => sum + x * (weights.get(index) as number), 0)
}

const [k1, b] = [1.2, 0.75]

/** How a search of texts combines words. */
export type Combine = 'or' | 'and' | 'phrase'

/** BM25 of every text with one of the words, all of them, or all one after another, best first. `all` are all texts that the field has. */
export function textScores(
  all: ReadonlyMap<string, string>,
  words: readonly string[],
  combine: Combine,
): readonly (readonly [id: string, score: number])[] {
  const texts = [...all].map(([id, text]) => [id, text.split(' ').filter((word) => word !== '')] as const)
  const mean = texts.reduce((sum, [, own]) => sum + own.length, 0) / texts.length
  const scoreOf = (own: readonly string[], word: string) => {
    const having = texts.filter(([, other]) => other.includes(word)).length
    const count = own.filter((other) => other === word).length
    const rarity = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5))
    return (rarity * count * (k1 + 1)) / (count + k1 * (1 - b + (b * own.length) / mean))
  }
  const isFound = (own: readonly string[]) => {
    if (combine === 'or') return words.some((word) => own.includes(word))
    if (combine === 'and') return words.every((word) => own.includes(word))
    return own.some((_, at) => words.every((word, i) => own[at + i] === word))
  }
  return texts
    .filter(([, own]) => isFound(own))
    .map(([id, own]) => [id, words.reduce((sum, word) => sum + scoreOf(own, word), 0)] as const)
    .sort(([, x], [, y]) => y - x)
}

export type ModelFilter =
  | { readonly kind: 'tag'; readonly value: string }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'on'; readonly value: boolean }

export interface ModelCollection {
  readonly spaceType: 'cosine' | 'l2' | 'ip'
  readonly precision: string
  readonly objects: Map<string, ModelObject>
}

/** A database other than `default`, with the names of its collections and tokens. */
export interface ModelDatabase {
  active: boolean
  readonly collections: Set<string>
  readonly tokens: Set<string>
}

export const dimension = 6

export function matches(filter: ModelFilter, object: ModelObject): boolean {
  switch (filter.kind) {
    case 'tag':
      return object.filter.tag === filter.value
    case 'range':
      return object.filter.n !== undefined && object.filter.n >= filter.from && object.filter.n <= filter.to
    case 'on':
      return object.filter.on === filter.value
  }
}

/** The filter in the form that the engine takes. */
export function asInput(filter: ModelFilter): Filter {
  switch (filter.kind) {
    case 'tag':
      return [{ tag: { $eq: filter.value } }]
    case 'range':
      return [{ n: { $range: [filter.from, filter.to] } }]
    case 'on':
      return [{ on: { $eq: filter.value } }]
  }
}

export function similarity(
  spaceType: ModelCollection['spaceType'],
  a: readonly number[],
  b: readonly number[],
): number {
  const dot = a.reduce((sum, x, i) => sum + x * (b[i] as number), 0)
  if (spaceType === 'ip') return dot
  if (spaceType === 'l2') return -a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)
  const lengths = Math.sqrt(a.reduce((sum, x) => sum + x * x, 0) * b.reduce((sum, x) => sum + x * x, 0))
  return lengths === 0 ? 0 : dot / lengths
}

/** The mean, over the vectors of the query, of the similarity to the most similar member. */
export function maxSim(
  spaceType: ModelCollection['spaceType'],
  query: readonly (readonly number[])[],
  members: readonly (readonly number[])[],
): number {
  const best = query.map((q) => Math.max(...members.map((member) => similarity(spaceType, q, member))))
  return best.reduce((sum, x) => sum + x, 0) / query.length
}
