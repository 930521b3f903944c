// A filter while it is being put together: rows of key, operator and text, and the conditions they mean.
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
  /** Tells rows apart while they are edited. */
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

/** The filter a draft means; throws an error for people while it means none. */
export function filterOf(draft: FilterDraft): Filter {
  return draft.kind === 'rows' ? draft.rows.filter(({ key }) => key !== '').map(conditionOf) : parsedFilter(draft.text)
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

/** A number, true or false where the text is one; in quotes it is text whatever it looks like. */
export function literal(text: string): Json {
  const trimmed = text.trim()
  if (trimmed === 'true') return true
  if (trimmed === 'false') return false
  if (trimmed !== '' && Number.isFinite(Number(trimmed))) return Number(trimmed)
  const quoted = /^"(.*)"$/s.exec(trimmed)
  return quoted === null ? trimmed : quoted[1]!
}

/** The text that `literal` reads back as this value. */
export function literalText(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return typeof literal(value) === 'string' && !value.includes(',') ? value : `"${value}"`
}

/** Separated by commas, except within quotes. */
function items(text: string): string[] {
  return (text.match(/"[^"]*"|[^,]+/g) ?? []).map((item) => item.trim()).filter((item) => item !== '')
}

function parsedFilter(text: string): Filter {
  if (text.trim() === '') return []
  const value: unknown = JSON.parse(text)
  if (!Array.isArray(value)) throw new Error('a filter is an array of conditions: [{"key": {"$eq": "value"}}]')
  return value as Filter
}

/** The same filter as rows, where rows can say it. */
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
