// The operators: which operand each accepts, and the condition it creates. Numbers are any finite numbers. `$gt`,
// `$gte`, `$lt`, `$lte` and `$range` also accept RFC 3339 strings as points in time and then compare stored strings of
// that form by time; other strings have no order.
import { filterOperandsMax, filterStringBytesMax } from '../limits.ts'
import type { Bounds, Condition, Scalar } from './condition.ts'
import { type Place, refuse } from './refuse.ts'
import { isInexactTimestamp, parseTimestamp } from './timestamp.ts'

type Make = (key: string, operand: unknown, place: Place) => Condition

export const operators = {
  $eq: (key, operand, place) => ({ kind: 'in', key, operands: [scalar(operand, place)] }),
  $in: (key, operand, place) => ({ kind: 'in', key, operands: scalars(operand, place) }),
  $ne: (key, operand, place) => not({ kind: 'in', key, operands: [scalar(operand, place)] }),
  $nin: (key, operand, place) => not({ kind: 'in', key, operands: scalars(operand, place) }),
  $range: between,
  $gt: (key, operand, place) => above(key, operand, place, true),
  $gte: (key, operand, place) => above(key, operand, place, false),
  $lt: (key, operand, place) => below(key, operand, place, true),
  $lte: (key, operand, place) => below(key, operand, place, false),
  $exists: exists,
} satisfies Record<string, Make>

export type Operator = keyof typeof operators

export function conditionOf(operator: Operator, key: string, operand: unknown, place: Place): Condition {
  return operators[operator](key, operand, place)
}

function between(key: string, operand: unknown, place: Place): Condition {
  if (!Array.isArray(operand) || operand.length !== 2) {
    throw refuse(place, '$range takes [start, end], two numbers or two times', operand)
  }
  const start = parseOrdered(operand[0], place)
  const end = parseOrdered(operand[1], place)
  if (start.type !== end.type) throw refuse(place, '$range takes two values of the same type', operand)
  if (start.value > end.value) throw refuse(place, '$range starts after its end', operand)
  return range(key, start.type, { low: start.value, high: end.value, lowOpen: false, highOpen: false })
}

function above(key: string, operand: unknown, place: Place, lowOpen: boolean): Condition {
  const { type, value } = parseOrdered(operand, place)
  return range(key, type, { low: value, high: Number.POSITIVE_INFINITY, lowOpen, highOpen: false })
}

function below(key: string, operand: unknown, place: Place, highOpen: boolean): Condition {
  const { type, value } = parseOrdered(operand, place)
  return range(key, type, { low: Number.NEGATIVE_INFINITY, high: value, lowOpen: false, highOpen })
}

function exists(key: string, operand: unknown, place: Place): Condition {
  if (typeof operand !== 'boolean') throw refuse(place, '$exists takes true or false', operand)
  return operand ? { kind: 'exists', key } : not({ kind: 'exists', key })
}

function scalars(operand: unknown, place: Place): readonly Scalar[] {
  if (!Array.isArray(operand)) throw refuse(place, `${place.operator} takes a list of values`, operand)
  if (operand.length > filterOperandsMax) {
    const what = `${place.operator} takes at most ${filterOperandsMax} values`
    throw refuse(place, what, operand.length, filterOperandsMax)
  }
  return [...new Set(operand.map((value: unknown) => scalar(value, place)))]
}

function scalar(value: unknown, place: Place): Scalar {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'string') {
    throw refuse(place, `${place.operator} compares with a string, a finite number or a boolean`, value)
  }
  if (!value.isWellFormed())
    throw refuse(place, `${place.operator} got text that is not well-formed Unicode`, undefined)
  if (value.length * 3 > filterStringBytesMax && Buffer.byteLength(value) > filterStringBytesMax) {
    throw refuse(
      place,
      `${place.operator} takes strings of at most ${filterStringBytesMax} bytes`,
      value,
      filterStringBytesMax,
    )
  }
  return value
}

function parseOrdered(value: unknown, place: Place): { readonly type: 'number' | 'time'; readonly value: number } {
  if (typeof value === 'number' && Number.isFinite(value)) return { type: 'number', value }
  const time = typeof value === 'string' ? parseTimestamp(value) : undefined
  if (typeof value === 'string' && isInexactTimestamp(value)) {
    throw refuse(place, `${place.operator} compares parts of a millisecond only in the years 1692 to 2247`, value)
  }
  if (time !== undefined) return { type: 'time', value: time }
  throw refuse(place, `${place.operator} takes a finite number or a time such as "2024-05-01T12:00:00Z"`, value)
}

function range(key: string, type: 'number' | 'time', bounds: Bounds): Condition {
  return { kind: 'range', key, type, bounds }
}

function not(condition: Condition): Condition {
  return { kind: 'not', condition }
}
