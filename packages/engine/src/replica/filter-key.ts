// The key of a filter in caches of matches: the same for filters that are written the same.

/** A filter with a longer key, such as a list of thousands of operands, is not cached. */
export const filterKeyLengthMax = 4_096

export function filterKey(filter: readonly unknown[]): string {
  return JSON.stringify(filter, tagSpecialNumbers)
}

/** Distinguishes -0 and infinities, which JSON does not. */
function tagSpecialNumbers(_: string, value: unknown): unknown {
  if (Object.is(value, -0)) return { number: '-0' }
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? { number: `${value}` } : value
}
