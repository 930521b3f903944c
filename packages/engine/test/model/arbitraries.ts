// Random names, ids, objects, filters, and moments of a model run.
import fc from 'fast-check'
import { type Combine, dimension, type ModelFilter } from './model.ts'

/** Of collections, and of one alias and one branch that calls take as well. */
const names = ['a', 'b', 'c', 'p']
export const id = fc.integer({ min: 0, max: 39 }).map((n) => `object ${n} ä`)
export const name = fc.constantFrom(...names)
const number = fc.integer({ min: -8, max: 8 }).map((n) => n / 4)
export const vector = fc.array(number, { minLength: dimension, maxLength: dimension })
export const filterValues = fc.record(
  { tag: fc.constantFrom('red', 'green', 'blue'), n: fc.integer({ min: -5, max: 5 }), on: fc.boolean() },
  { requiredKeys: [] },
)
const members = fc.array(vector, { maxLength: 4 })
const weight = fc.integer({ min: 1, max: 8 }).map((n) => n / 4)
export const terms = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 12 }), weight), {
  maxLength: 5,
  selector: ([index]) => index,
})
const word = fc.constantFrom('ant', 'bee', 'cat', 'dog', 'elk', 'fox', 'gnu')
export const words = fc.array(word, { minLength: 1, maxLength: 3 })
export const combine = fc.constantFrom<Combine>('or', 'and', 'phrase')
const text = fc.option(fc.array(word, { maxLength: 6 }).map((some) => some.join(' ')))
export const object = fc.record({
  vector,
  members,
  terms,
  text,
  meta: fc.record({ n: fc.integer() }),
  filter: filterValues,
})
export const filter: fc.Arbitrary<ModelFilter> = fc.oneof(
  fc.constantFrom('red', 'green', 'blue').map((value) => ({ kind: 'tag' as const, value })),
  fc
    .tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: 0, max: 6 }))
    .map(([from, width]) => ({ kind: 'range' as const, from, to: from + width })),
  fc.boolean().map((value) => ({ kind: 'on' as const, value })),
)
/** A position in a list whose length is known only during the run. */
export const pick = fc.integer({ min: 0, max: 999 }).map((n) => n / 1_000)

/** The chosen one of a list. */
export function picked<T>(list: readonly T[], position: number): T | undefined {
  return list[Math.floor(position * list.length)]
}
