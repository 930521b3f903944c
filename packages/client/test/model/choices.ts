// Random names, ids, objects, filters, and queries of a life. Numbers are quarters, so that sums of their products have no error.
import type { Random } from '@annal/wal/testing'
import { dimension, type ModelFilter, type ModelObject, type Terms } from '../../../engine/test/model/model.ts'

/** Of collections, and of one alias. */
const names = ['a', 'b', 'c', 'a', 'b', 'c', 'x']
export const alias = 'x'
const tags = ['red', 'green', 'blue']
const idsMax = 40

export function chosen<T>(random: Random, values: readonly T[]): T {
  return values[random.below(values.length)] as T
}

export function list<T>(random: Random, { least, most }: { least: number; most: number }, make: () => T): T[] {
  return Array.from({ length: least + random.below(most - least + 1) }, make)
}

export function name(random: Random): string {
  return chosen(random, names)
}

export function id(random: Random): string {
  return `object ${random.below(idsMax)} ä`
}

export function ids(random: Random, most: number): string[] {
  return [...new Set(list(random, { least: 1, most }, () => id(random)))]
}

export function vector(random: Random): number[] {
  return Array.from({ length: dimension }, () => (random.below(17) - 8) / 4)
}

const vocabulary = ['ant', 'bee', 'cat', 'dog', 'elk', 'fox', 'gnu']

export function words(random: Random, length: { readonly least: number; readonly most: number }): string[] {
  return list(random, length, () => chosen(random, vocabulary))
}

export function terms(random: Random, { least }: { least: number }): Terms {
  const indices = new Set(list(random, { least, most: 5 }, () => random.below(13)))
  return [...indices].sort((x, y) => x - y).map((index) => [index, (1 + random.below(8)) / 4] as const)
}

export function values(random: Random): ModelObject['filter'] {
  return {
    ...(random.chance(0.7) && { tag: chosen(random, tags) }),
    ...(random.chance(0.7) && { n: random.below(11) - 5 }),
    ...(random.chance(0.7) && { on: random.chance(0.5) }),
  }
}

export function object(random: Random): ModelObject {
  return {
    vector: vector(random),
    members: list(random, { least: 0, most: 4 }, () => vector(random)),
    terms: terms(random, { least: 0 }),
    text: random.chance(0.6) ? words(random, { least: 0, most: 6 }).join(' ') : null,
    meta: { n: random.below(2 ** 31) - 2 ** 30 },
    filter: values(random),
  }
}

export function filter(random: Random): ModelFilter {
  const kind = chosen(random, ['tag', 'range', 'on'] as const)
  if (kind === 'tag') return { kind, value: chosen(random, tags) }
  if (kind === 'on') return { kind, value: random.chance(0.5) }
  const from = random.below(11) - 5
  return { kind, from, to: from + random.below(7) }
}

/** Undefined: all objects. */
export function optionalFilter(random: Random): ModelFilter | undefined {
  return random.chance(0.5) ? filter(random) : undefined
}
