// Evaluates a condition to true or false for the filter values of one object, without an index. It agrees with the index on every
// object.
import type { JsonObject, JsonValue } from '../model/json.ts'
import type { Bounds, Condition, Filter, Scalar } from './condition.ts'
import { parseTimestamp } from './timestamp.ts'

/** Whether the values satisfy every condition. */
export function matchesValues(filter: Filter, values: JsonObject): boolean {
  return filter.every((condition) => holds(condition, values))
}

/** The distinct strings, numbers, and booleans under a key, in the order of the array if there is one. */
export function scalarsUnder(values: JsonObject, key: string): ReadonlySet<Scalar> {
  const scalars = new Set<Scalar>()
  for (const element of elementsOf(values, key)) {
    // Adding 0 turns -0 into 0.
    if (typeof element === 'number') scalars.add(element + 0)
    else if (typeof element === 'string' || typeof element === 'boolean') scalars.add(element)
  }
  return scalars
}

function holds(condition: Condition, values: JsonObject): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.every((one) => holds(one, values))
    case 'or':
      return condition.conditions.some((one) => holds(one, values))
    case 'not':
      return !holds(condition.condition, values)
    case 'exists':
      return Object.hasOwn(values, condition.key)
    case 'value':
      return scalarsUnder(values, condition.key).size > 0
    case 'in':
      return elementsOf(values, condition.key).some((element) => condition.operands.some((one) => element === one))
    case 'range': {
      const { key, type, bounds } = condition
      return elementsOf(values, key).some((element) => {
        const value = type === 'number' ? element : timeOf(element)
        return typeof value === 'number' && isWithin(value, bounds)
      })
    }
  }
}

/** What a condition on the key is compared with. */
function elementsOf(values: JsonObject, key: string): readonly JsonValue[] {
  if (!Object.hasOwn(values, key)) return []
  const value = values[key] as JsonValue
  return Array.isArray(value) ? value : [value]
}

function timeOf(element: JsonValue): number | undefined {
  return typeof element === 'string' ? parseTimestamp(element) : undefined
}

function isWithin(value: number, { low, high, lowOpen, highOpen }: Bounds): boolean {
  return (lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high)
}
