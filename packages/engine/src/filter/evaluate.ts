// Evaluates a condition to the set of ordinals that match. Reads the index and changes nothing.
import { Bitmap } from '../memory/bitmap.ts'
import type { TermTable } from '../memory/term-table.ts'
import type { Condition, Scalar } from './condition.ts'
import type { KeyIndex } from './key-index.ts'

export interface Indexed {
  readonly live: Bitmap
  readonly keys: ReadonlyMap<string, KeyIndex>
  readonly terms: TermTable
}

const everyValue = {
  low: Number.NEGATIVE_INFINITY,
  high: Number.POSITIVE_INFINITY,
  lowOpen: false,
  highOpen: false,
} as const

/** Returns a new bitmap with its count. */
export function matches(condition: Condition, indexed: Indexed): Bitmap {
  switch (condition.kind) {
    case 'and':
      return allOf(condition.conditions, indexed)
    case 'not':
      return indexed.live.clone().andNot(matches(condition.condition, indexed))
    default: {
      const found = new Bitmap(indexed.live.words.length * 32)
      collect(condition, indexed, new Int32Array(found.words.buffer))
      return found.recount()
    }
  }
}

function allOf(conditions: readonly Condition[], indexed: Indexed): Bitmap {
  const [first, ...rest] = conditions
  if (first === undefined) return indexed.live.clone()
  let all = matches(first, indexed)
  for (const condition of rest) {
    if (all.count === 0) return all
    // Subtracts the negated set directly, without building its complement.
    if (condition.kind === 'not') all = all.andNot(matches(condition.condition, indexed))
    else all = all.and(matches(condition, indexed))
  }
  return all
}

/** Sets the bits of the ordinals that match the condition. */
function collect(condition: Condition, indexed: Indexed, into: Int32Array): void {
  switch (condition.kind) {
    case 'in':
      for (const operand of condition.operands) collectEqual(condition.key, operand, indexed, into)
      return
    case 'range':
      indexed.keys.get(condition.key)?.run(condition.type)?.collect(condition.bounds, into)
      return
    case 'exists':
      collectValue(indexed.keys.get(condition.key), 'exists', 0, into)
      return
    case 'value':
      for (const run of ['string', 'number', 'boolean'] as const)
        indexed.keys.get(condition.key)?.run(run)?.collect(everyValue, into)
      return
    case 'or':
      for (const one of condition.conditions) collect(one, indexed, into)
      return
    case 'and':
    case 'not': {
      const { words } = matches(condition, indexed)
      for (let index = 0; index < words.length; index++) into[index]! |= words[index]!
      return
    }
  }
}

function collectEqual(key: string, operand: Scalar, { keys, terms }: Indexed, into: Int32Array): void {
  const index = keys.get(key)
  if (index === undefined) return
  if (typeof operand === 'number') collectValue(index, 'number', operand + 0, into)
  else if (typeof operand === 'boolean') collectValue(index, 'boolean', operand ? 1 : 0, into)
  else {
    const term = terms.find(index.id, operand)
    if (term >= 0) collectValue(index, 'string', term, into)
  }
}

function collectValue(
  index: KeyIndex | undefined,
  run: 'exists' | 'number' | 'boolean' | 'string',
  value: number,
  into: Int32Array,
): void {
  index?.run(run)?.collect({ low: value, high: value, lowOpen: false, highOpen: false }, into)
}
