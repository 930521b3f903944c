// Filters: a list of conditions that must all hold, and functions that build conditions.
import type { JsonObject } from './record.ts'

export type FilterValue = string | number | boolean

/** A number, or a time as an RFC 3339 string. */
export type Ordered = number | string

/** Exactly one operator, as the server requires. Names are case-sensitive. */
export type FilterOperator =
  | { readonly $eq: FilterValue }
  | { readonly $ne: FilterValue }
  | { readonly $in: readonly FilterValue[] }
  | { readonly $nin: readonly FilterValue[] }
  /** Includes both ends. */
  | { readonly $range: readonly [from: Ordered, to: Ordered] }
  | { readonly $gt: Ordered }
  | { readonly $gte: Ordered }
  | { readonly $lt: Ordered }
  | { readonly $lte: Ordered }
  | { readonly $exists: boolean }

/** One key and its condition, `{ color: { $in: ['red', 'green'] } }`, or a combination of conditions. */
export type FilterCondition =
  | { readonly [field: string]: FilterOperator }
  | { readonly $and: readonly FilterCondition[] }
  | { readonly $or: readonly FilterCondition[] }
  | { readonly $not: FilterCondition }

/** `[{ color: { $eq: 'red' } }, { price: { $range: [10, 20] } }]` matches red things with a price from 10 to 20. */
export type Filter = readonly FilterCondition[]

/** The filter values of one vector. A list matches if any of its values matches. */
export interface FilterValues {
  readonly [field: string]: FilterValue | readonly FilterValue[] | null
}

/** `[eq('color', 'red'), range('price', 10, 20)]` is the filter above. */
export function eq(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $eq: value } }
}

/** Also matches objects without the key. */
export function ne(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $ne: value } }
}

export function oneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $in: values } }
}

/** Also matches objects without the key. */
export function noneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $nin: values } }
}

/** Includes both ends. */
export function range(field: string, from: Ordered, to: Ordered): FilterCondition {
  return { [field]: { $range: [from, to] } }
}

export function gt(field: string, value: Ordered): FilterCondition {
  return { [field]: { $gt: value } }
}

export function gte(field: string, value: Ordered): FilterCondition {
  return { [field]: { $gte: value } }
}

export function lt(field: string, value: Ordered): FilterCondition {
  return { [field]: { $lt: value } }
}

export function lte(field: string, value: Ordered): FilterCondition {
  return { [field]: { $lte: value } }
}

export function exists(field: string, wanted = true): FilterCondition {
  return { [field]: { $exists: wanted } }
}

export function and(...conditions: readonly FilterCondition[]): FilterCondition {
  return { $and: conditions }
}

export function or(...conditions: readonly FilterCondition[]): FilterCondition {
  return { $or: conditions }
}

export function not(condition: FilterCondition): FilterCondition {
  return { $not: condition }
}

/** The server's limits per string, and on the keys of one object. */
const textBytesMax = 1_024
const keysMax = 256

/**
 * Selects the values of other databases' metadata or payload that a filter can test: numbers, booleans, strings of up to 1,024 bytes,
 * and lists of these. Values that are left out can still be stored as meta.
 */
export function filterValuesOf(values: JsonObject): FilterValues {
  const askable = Object.entries(values).filter((entry): entry is [string, FilterValue | FilterValue[]] => {
    const [key, value] = entry
    if (key === '' || key.startsWith('$')) return false
    return Array.isArray(value) ? value.length > 0 && value.every(isAskable) : isAskable(value)
  })
  return Object.fromEntries(askable.slice(0, keysMax))
}

function isAskable(value: unknown): value is FilterValue {
  if (typeof value === 'string') return new TextEncoder().encode(value).length <= textBytesMax
  return typeof value === 'number' || typeof value === 'boolean'
}
