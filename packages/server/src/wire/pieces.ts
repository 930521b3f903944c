// JSON written piece by piece, so that a long reply is never one text.
import type { DenseRow } from '@annal/engine'

/** An array, its entries written as they come. */
export function* arrayPieces<T>(items: Iterable<T>, write: (item: T) => Iterable<string>): Generator<string> {
  let before = '['
  for (const item of items) {
    yield before
    yield* write(item)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** An object, its values written as they come. */
export function* objectPieces(entries: Iterable<readonly [string, Iterable<string>]>): Generator<string> {
  let before = '{'
  for (const [key, value] of entries) {
    yield `${before}${JSON.stringify(key)}:`
    yield* value
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** The members of a plain object that has some, and then others. */
export function* withMembers(head: object, entries: Iterable<readonly [string, Iterable<string>]>): Generator<string> {
  yield JSON.stringify(head).slice(0, -1)
  for (const [key, value] of entries) {
    yield `,${JSON.stringify(key)}:`
    yield* value
  }
  yield '}'
}

export function numbersJson(numbers: ArrayLike<number>): string {
  return JSON.stringify(Array.from(numbers))
}

/** Members of a multi-vector field as they were given. */
export function memberPieces(members: readonly DenseRow[]): Generator<string> {
  return arrayPieces(members, ({ vector }) => [numbersJson(vector)])
}
