// What a filter looks like: a list of conditions, all of which must hold; and functions that write conditions.
import type { JsonObject } from './record.ts'

export type FilterValue = string | number | boolean

/** A number, or a point in time as RFC 3339 text. */
export type Ordered = number | string

/** Exactly one operator, as the server demands; names are case-sensitive. */
export type FilterOperator =
  | { readonly $eq: FilterValue }
  | { readonly $ne: FilterValue }
  | { readonly $in: readonly FilterValue[] }
  | { readonly $nin: readonly FilterValue[] }
  /** Both ends belong to the range. */
  | { readonly $range: readonly [from: Ordered, to: Ordered] }
  | { readonly $gt: Ordered }
  | { readonly $gte: Ordered }
  | { readonly $lt: Ordered }
  | { readonly $lte: Ordered }
  | { readonly $exists: boolean }

/** One field and what its value must be, `{ color: { $in: ['red', 'green'] } }`, or other conditions joined. */
export type FilterCondition =
  | { readonly [field: string]: FilterOperator }
  | { readonly $and: readonly FilterCondition[] }
  | { readonly $or: readonly FilterCondition[] }
  | { readonly $not: FilterCondition }

/** `[{ color: { $eq: 'red' } }, { price: { $range: [10, 20] } }]` holds for red things between 10 and 20. */
export type Filter = readonly FilterCondition[]

/** The values of one vector that filters may ask for. A list matches when any of its values does. */
export interface FilterValues {
  readonly [field: string]: FilterValue | readonly FilterValue[] | null
}

/** `[eq('color', 'red'), range('price', 10, 20)]` is the filter above. */
export function eq(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $eq: value } }
}

/** Also holds for what lacks the field. */
export function ne(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $ne: value } }
}

export function oneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $in: values } }
}

/** Also holds for what lacks the field. */
export function noneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $nin: values } }
}

/** Both ends belong to the range. */
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

/** The server's limits on one text, and on the keys of one object. */
const textBytesMax = 1_024
const keysMax = 256

/**
 * Of what other databases and frameworks call metadata or payload, the keys that a filter can ask for: numbers, truth values, texts up
 * to 1,024 bytes, and lists of these. What is left out can still be kept as meta.
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
