// Checks when an object expires, as a write says it, and finds the time.
import { EngineError } from '../errors.ts'
import { parseTimestamp } from '../filter/timestamp.ts'
import { expiresAtMax, ttlSecondsMax } from '../limits.ts'
import { printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { WriteExpiry } from '../model/object.ts'
import { storedText } from '../model/stored-text.ts'

/** What a write says about the expiry of an object. */
export type GivenExpiry = { readonly ttlSeconds: number } | { readonly expiresAt: number } | 'never'

/** Undefined if the write says nothing. Throws invalid_argument or limit_exceeded. */
export function parseExpiry(input: WriteExpiry, path: string): GivenExpiry | undefined {
  const { ttlSeconds, expiresAt } = input
  if (ttlSeconds === undefined && expiresAt === undefined) return undefined
  if (ttlSeconds !== undefined && expiresAt !== undefined) {
    const message = `${path} has ttlSeconds and expiresAt, but only one of them is allowed`
    throw new EngineError('invalid_argument', message, { field: `${path}.expiresAt`, value: shownValue(expiresAt) })
  }
  if (ttlSeconds === null || expiresAt === null) return 'never'
  if (ttlSeconds !== undefined) return { ttlSeconds: parseTtl(ttlSeconds, `${path}.ttlSeconds`) }
  return { expiresAt: parseTime(expiresAt, `${path}.expiresAt`) }
}

/** Throws invalid_argument or limit_exceeded. */
export function parseTtl(value: unknown, field: string): number {
  return wholeNumber(value, field, 1, ttlSecondsMax)
}

function parseTime(value: unknown, field: string): number {
  if (typeof value === 'number') return wholeNumber(value, field, 0, expiresAtMax)
  const timeMs = typeof value === 'string' ? parseTimestamp(value) : undefined
  if (timeMs !== undefined && timeMs >= 0 && timeMs <= expiresAtMax) return Math.ceil(timeMs)
  const message = `${field} must be a time since 1970 in the form of RFC 3339, or in milliseconds, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
}

/** The time when an object expires that is written now; undefined: never. */
export function expiryOf(
  given: GivenExpiry | undefined,
  { nowMs, ttlSeconds }: { readonly nowMs: number; readonly ttlSeconds: number | undefined },
): number | undefined {
  if (given === 'never') return undefined
  if (given !== undefined && 'expiresAt' in given) return given.expiresAt
  const ttl = given?.ttlSeconds ?? ttlSeconds
  return ttl === undefined ? undefined : Math.min(expiresAtMax, Math.floor(nowMs) + ttl * 1000)
}

/** The filters with the expiries of their objects. */
export function withExpiries(
  filters: readonly string[],
  given: readonly (GivenExpiry | undefined)[],
  now: Parameters<typeof expiryOf>[1],
): readonly string[] {
  return filters.map((filter, i) => storedText(filter, expiryOf(given[i], now)))
}
