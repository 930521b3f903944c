// Parses a query's filter into a checked list of conditions, all of which must hold. A condition names one key and one
// operator, `{ color: { $eq: 'red' } }`, or joins conditions: `{ $and: [...] }`, `{ $or: [...] }`, `{ $not: {...} }`.
import { filterConditionsMax, jsonDepthMax } from '../limits.ts'
import type { Condition, Filter } from './condition.ts'
import { conditionOf, type Operator, operators } from './operators.ts'
import { type Place, refuse } from './refuse.ts'

export type { Filter } from './condition.ts'

const joins = ['$and', '$or', '$not']

/** `path` names the filter in errors. Throws EngineError invalid_filter with the condition, its key, operator and value. */
export function parseFilter(raw: unknown, path = 'filter'): Filter {
  if (!Array.isArray(raw)) {
    throw refuse({ path }, 'must be a list of conditions, such as [{"color":{"$eq":"red"}}]', raw)
  }
  const budget = { left: filterConditionsMax }
  return raw.map((condition: unknown, index) =>
    parseCondition(condition, { path: `${path}[${index}]`, condition: index }, budget, 1),
  )
}

interface Budget {
  left: number
}

function parseCondition(raw: unknown, place: Place, budget: Budget, depth: number): Condition {
  if (depth > jsonDepthMax) throw refuse(place, `is nested deeper than ${jsonDepthMax} levels`, undefined, jsonDepthMax)
  const [key, operand] = onlyEntry(raw, place, 'one key, such as {"color":{"$eq":"red"}}')
  // A joining operator is not a condition itself.
  if (joins.includes(key)) return parseJoin(key, operand, place, budget, depth)
  if (budget.left-- <= 0) {
    throw refuse(place, `exceeds the limit of ${filterConditionsMax} conditions`, undefined, filterConditionsMax)
  }
  if (key.startsWith('$')) {
    const what =
      key in operators ? `names operator ${key} without a key` : `names ${key}, which does not combine conditions`
    throw refuse(place, `${what}; the form is {"color":{"$eq":"red"}}`, raw)
  }
  return parseTest(key, operand, { ...place, key })
}

function parseJoin(name: string, operand: unknown, place: Place, budget: Budget, depth: number): Condition {
  const inner = (raw: unknown, path: string): Condition => parseCondition(raw, { ...place, path }, budget, depth + 1)
  if (name === '$not') return { kind: 'not', condition: inner(operand, `${place.path}.$not`) }
  if (!Array.isArray(operand) || operand.length === 0) {
    throw refuse({ ...place, operator: name }, `${name} takes a list of one or more conditions`, operand)
  }
  const conditions = operand.map((raw: unknown, index) => inner(raw, `${place.path}.${name}[${index}]`))
  return { kind: name === '$and' ? 'and' : 'or', conditions }
}

function parseTest(key: string, raw: unknown, place: Place): Condition {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    const operator = Array.isArray(raw) ? '$in' : '$eq'
    throw refuse(place, `needs an operator: {${JSON.stringify(key)}:{"${operator}":...}}`, raw)
  }
  const [operator, operand] = onlyEntry(raw, place, 'one operator; write a separate condition for each operator')
  if (!isOperator(operator)) throw refuse(place, `has no operator ${operator}${suggestion(operator)}`, operand)
  return conditionOf(operator, key, operand, { ...place, operator })
}

function onlyEntry(raw: unknown, place: Place, wanted: string): [string, unknown] {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw refuse(place, `must be an object with ${wanted}`, raw)
  }
  const entries = Object.entries(raw)
  const [only] = entries
  if (only === undefined || entries.length > 1)
    throw refuse(place, `has ${entries.length} entries, but it takes ${wanted}`, raw)
  return only
}

function isOperator(name: string): name is Operator {
  return Object.hasOwn(operators, name)
}

/** Hints at the right spelling: names are case-sensitive and begin with `$`. */
function suggestion(name: string): string {
  const meant = `$${name.replace(/^\$/, '').toLowerCase()}`
  if (isOperator(meant)) return `; did you mean ${meant}?`
  return `; operators are ${Object.keys(operators).join(' ')}`
}
