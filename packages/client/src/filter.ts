// Functions that build the conditions of a filter, which is a list of conditions that must all hold.
import type { FilterCondition, FilterValue, FilterValues, JsonObject, Ordered } from './model.ts'

/**
 * The value is this one, or a list that contains it.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [eq('genre', 'horror')] })
 * ```
 */
export function eq(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $eq: value } }
}

/**
 * The value is another one. Also matches objects without the key.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [ne('genre', 'horror')] })
 * ```
 */
export function ne(field: string, value: FilterValue): FilterCondition {
  return { [field]: { $ne: value } }
}

/**
 * The value is one of these.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [oneOf('genre', ['horror', 'drama'])] })
 * ```
 */
export function oneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $in: values } }
}

/**
 * The value is none of these. Also matches objects without the key.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [noneOf('genre', ['horror', 'drama'])] })
 * ```
 */
export function noneOf(field: string, values: readonly FilterValue[]): FilterCondition {
  return { [field]: { $nin: values } }
}

/**
 * The value is in this range, which includes both ends.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [range('year', 1970, 1989)] })
 * ```
 */
export function range(field: string, from: Ordered, to: Ordered): FilterCondition {
  return { [field]: { $range: [from, to] } }
}

/**
 * The value is greater.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [gt('year', 1970)] })
 * ```
 */
export function gt(field: string, value: Ordered): FilterCondition {
  return { [field]: { $gt: value } }
}

/**
 * The value is greater or equal.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [gte('year', 1970)] })
 * ```
 */
export function gte(field: string, value: Ordered): FilterCondition {
  return { [field]: { $gte: value } }
}

/**
 * The value is less.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [lt('released', '1980-01-01T00:00:00Z')] })
 * ```
 */
export function lt(field: string, value: Ordered): FilterCondition {
  return { [field]: { $lt: value } }
}

/**
 * The value is less or equal.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [lte('year', 1989)] })
 * ```
 */
export function lte(field: string, value: Ordered): FilterCondition {
  return { [field]: { $lte: value } }
}

/**
 * The object has the key, or with `false` does not have it.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [exists('year')] })
 * ```
 */
export function exists(field: string, wanted = true): FilterCondition {
  return { [field]: { $exists: wanted } }
}

/**
 * All of these hold. The conditions of a filter are joined so, too.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [or(eq('genre', 'horror'), and(eq('genre', 'drama'), gte('year', 1970)))] })
 * ```
 */
export function and(...conditions: readonly FilterCondition[]): FilterCondition {
  return { $and: conditions }
}

/**
 * At least one of these holds.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [or(eq('genre', 'horror'), lt('year', 1950))] })
 * ```
 */
export function or(...conditions: readonly FilterCondition[]): FilterCondition {
  return { $or: conditions }
}

/**
 * This does not hold.
 *
 * @example
 * ```ts
 * const { results } = await films.search({ fields: { plot: { query: [1, 0, 0] } }, filter: [not(eq('genre', 'horror'))] })
 * ```
 */
export function not(condition: FilterCondition): FilterCondition {
  return { $not: condition }
}

/** The server's limits per string, and on the keys of one object. */
const textBytesMax = 1_024
const keysMax = 256

/**
 * Selects the values of other databases' metadata or payload that a filter can test: numbers, booleans, strings of up to 1,024 bytes,
 * and lists of these. Values that are left out can still be stored as meta.
 *
 * @example
 * ```ts
 * const payload = { year: 1979, tags: ['space', 'horror'], text: 'x'.repeat(5_000), nested: { deep: true } }
 * await films.upsert([{ id: 'alien', meta: payload, filter: filterValuesOf(payload), fields: { plot: [0.9, 0.1, 0.2] } }])
 * ```
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
