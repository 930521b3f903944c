// Writes JSON piece by piece, so that a long reply is never one text.
import type { DenseRow } from '@annal/engine'

/** An array whose entries are written one after another. */
export function* arrayPieces<T>(items: Iterable<T>, write: (item: T) => Iterable<string>): Generator<string> {
  let before = '['
  for (const item of items) {
    yield before
    yield* write(item)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** An object whose values are written one after another. */
export function* objectPieces(entries: Iterable<readonly [string, Iterable<string>]>): Generator<string> {
  let before = '{'
  for (const [key, value] of entries) {
    yield `${before}${JSON.stringify(key)}:`
    yield* value
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** The members of a plain object that has at least one, followed by other members. */
export function* withMembers(head: object, entries: Iterable<readonly [string, Iterable<string>]>): Generator<string> {
  yield JSON.stringify(head).slice(0, -1)
  for (const [key, value] of entries) {
    yield `,${JSON.stringify(key)}:`
    yield* value
  }
  yield '}'
}

/**
 * Numbers that read back unchanged, including negative zero, which JSON.stringify writes without its sign and Python reads as an
 * integer.
 */
export function numbersJson(numbers: ArrayLike<number>): string {
  const list = Array.from(numbers)
  if (!list.some((x) => Object.is(x, -0))) return JSON.stringify(list)
  return `[${list.map((x) => (Object.is(x, -0) ? '-0.0' : JSON.stringify(x))).join(',')}]`
}

/** The original members of a multi-vector field. */
export function memberPieces(members: readonly DenseRow[]): Generator<string> {
  return arrayPieces(members, ({ vector }) => [numbersJson(vector)])
}

/** The pieces of a reply as one buffer. All have the same type. */
export function joinPieces(pieces: readonly (string | Buffer)[]): Buffer {
  const [only] = pieces
  if (pieces.length === 1 && Buffer.isBuffer(only)) return only
  return Buffer.isBuffer(only) ? Buffer.concat(pieces as Buffer[]) : Buffer.from(pieces.join(''))
}
