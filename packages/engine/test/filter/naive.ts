// A direct evaluation of filters: slow, and independent of the index.
import type { JsonObject, JsonValue } from '../../src/model/json.ts'

export function holds(filter: readonly JsonObject[], values: JsonObject): boolean {
  return filter.every((condition) => holdsOne(condition, values))
}

function holdsOne(condition: JsonObject, values: JsonObject): boolean {
  const [key, test] = Object.entries(condition)[0] as [string, JsonValue]
  if (key === '$and') return (test as JsonObject[]).every((one) => holdsOne(one, values))
  if (key === '$or') return (test as JsonObject[]).some((one) => holdsOne(one, values))
  if (key === '$not') return !holdsOne(test as JsonObject, values)
  const [operator, operand] = Object.entries(test as JsonObject)[0] as [string, JsonValue]
  const there = Object.hasOwn(values, key)
  const value = values[key]
  const elements = !there ? [] : Array.isArray(value) ? (value as JsonValue[]) : [value as JsonValue]
  const some = (is: (element: JsonValue) => boolean): boolean => elements.some(is)
  switch (operator) {
    case '$eq':
      return some((element) => equal(element, operand))
    case '$ne':
      return !some((element) => equal(element, operand))
    case '$in':
      return some((element) => (operand as JsonValue[]).some((one) => equal(element, one)))
    case '$nin':
      return !some((element) => (operand as JsonValue[]).some((one) => equal(element, one)))
    case '$exists':
      return there === operand
    case '$gt':
      return some((element) => compare(element, operand, (a, b) => a > b))
    case '$gte':
      return some((element) => compare(element, operand, (a, b) => a >= b))
    case '$lt':
      return some((element) => compare(element, operand, (a, b) => a < b))
    case '$lte':
      return some((element) => compare(element, operand, (a, b) => a <= b))
    case '$range': {
      const [low, high] = operand as [JsonValue, JsonValue]
      return some((it) => compare(it, low, (a, b) => a >= b) && compare(it, high, (a, b) => a <= b))
    }
    default:
      throw new Error(`the naive evaluator does not know ${operator}`)
  }
}

function equal(element: JsonValue, operand: JsonValue): boolean {
  return typeof element === typeof operand && typeof element !== 'object' && element === operand
}

const times = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?$/

function compare(element: JsonValue, operand: JsonValue, is: (a: number, b: number) => boolean): boolean {
  if (typeof element === 'number' && typeof operand === 'number') return is(element, operand)
  if (typeof element !== 'string' || typeof operand !== 'string') return false
  return times.test(element) && times.test(operand) && is(Date.parse(element), Date.parse(operand))
}
