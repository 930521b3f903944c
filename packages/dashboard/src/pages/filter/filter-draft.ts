// A filter that is being edited: rows of key, operator and text, and the conditions they produce.
import type { Filter, Json, JsonMap } from '../../api/objects.ts'

export const operators = [
  ['$eq', 'is'],
  ['$ne', 'is not'],
  ['$in', 'is one of'],
  ['$nin', 'is none of'],
  ['$range', 'is between'],
  ['$gt', '>'],
  ['$gte', '≥'],
  ['$lt', '<'],
  ['$lte', '≤'],
  ['$exists', 'exists'],
] as const

export type Operator = (typeof operators)[number][0]

export interface Row {
  /** Identifies a row while it is edited. */
  readonly number: number
  readonly key: string
  readonly operator: Operator
  readonly text: string
}

export type FilterDraft =
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | { readonly kind: 'text'; readonly text: string }

export const noFilter: FilterDraft = { kind: 'rows', rows: [] }

let rowsMade = 0

export function newRow(key = '', operator: Operator = '$eq', text = ''): Row {
  rowsMade += 1
  return { number: rowsMade, key, operator, text }
}

/** The filter that a draft produces, without unfinished rows; throws a readable error while its JSON is invalid. */
export function filterOf(draft: FilterDraft): Filter {
  if (draft.kind === 'text') return parsedFilter(draft.text)
  return draft.rows.filter((row) => missingIn(row) === undefined).map(conditionOf)
}

const comparisons: ReadonlySet<Operator> = new Set(['$range', '$gt', '$gte', '$lt', '$lte'])

/** What a row needs before it is a condition. The server never gets a row that lacks something. */
export function missingIn({ key, operator, text }: Row): string | undefined {
  if (key === '') return 'a key'
  if (operator === '$exists') return undefined
  if (text.trim() === '') return operator === '$eq' || operator === '$ne' ? 'a value; "" is an empty text' : 'a value'
  if (operator === '$in' || operator === '$nin') return items(text).length > 0 ? undefined : 'a value'
  if (!comparisons.has(operator)) return isOpenQuote(text) ? 'a closing quote' : undefined
  const bounds = operator === '$range' ? items(text) : [text]
  if (operator === '$range' && bounds.length !== 2) return 'two numbers or dates, such as 10, 20'
  return bounds.map(literal).every(isComparable) ? undefined : 'a number, or a date such as 2026-05-01'
}

function isOpenQuote(text: string): boolean {
  const trimmed = text.trim()
  return trimmed.startsWith('"') && (trimmed.length === 1 || !trimmed.endsWith('"'))
}

function isComparable(value: Json): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^\d{4}-\d\d-\d\d(T.+)?$/.test(value))
}

function conditionOf({ key, operator, text }: Row): JsonMap {
  return { [key]: { [operator]: operand(operator, text) } }
}

function operand(operator: Operator, text: string): Json {
  switch (operator) {
    case '$in':
    case '$nin':
      return items(text).map(literal)
    case '$range':
      return items(text).map(literal)
    case '$exists':
      return text.trim() !== 'false'
    default:
      return literal(text)
  }
}

/** Parses a number, true or false; text in quotes is always a string. */
export function literal(text: string): Json {
  const trimmed = text.trim()
  if (trimmed === 'true') return true
  if (trimmed === 'false') return false
  if (trimmed !== '' && Number.isFinite(Number(trimmed))) return Number(trimmed)
  const quoted = /^"(.*)"$/s.exec(trimmed)
  return quoted === null ? trimmed : quoted[1]!
}

/** The text that `literal` parses back into this value. */
export function literalText(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return typeof literal(value) === 'string' && !value.includes(',') ? value : `"${value}"`
}

/** Splits at commas outside quotes. */
function items(text: string): string[] {
  return (text.match(/"[^"]*"|[^,]+/g) ?? []).map((item) => item.trim()).filter((item) => item !== '')
}

function parsedFilter(text: string): Filter {
  if (text.trim() === '') return []
  const value = parsedJson(text)
  if (!Array.isArray(value))
    throw new Error('a filter must be an array of conditions, such as [{"key": {"$eq": "value"}}]')
  return value as Filter
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('this is not JSON yet', { cause })
  }
}

/** The same filter as rows, if rows can express it. */
export function rowsOf(filter: Filter): FilterDraft | undefined {
  const rows: Row[] = []
  for (const condition of filter) {
    const [entry, ...more] = Object.entries(condition)
    if (entry === undefined || more.length > 0 || entry[0].startsWith('$')) return undefined
    const [key, test] = entry
    if (typeof test !== 'object' || test === null || Array.isArray(test)) return undefined
    const [[operator, value] = ['', null], ...others] = Object.entries(test as JsonMap)
    const known = operators.find(([name]) => name === operator)?.[0]
    if (known === undefined || others.length > 0) return undefined
    rows.push(newRow(key, known, Array.isArray(value) ? value.map(literalText).join(', ') : literalText(value ?? null)))
  }
  return { kind: 'rows', rows }
}
