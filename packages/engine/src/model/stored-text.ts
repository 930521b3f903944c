// The text that is stored with an object: its filter values, unchanged, after its expiry if it has one. A filter is a JSON object,
// so no filter begins as an expiry does. In the index of filter values, the expiry is a number under a key that no caller can store.
//
//   stored text   [ '@' | 15 digits: milliseconds since 1970 | ';' ] | filter, '' for none

import { filterKeyBytesMax } from '../limits.ts'

/** First character of a text with an expiry. */
export const expiryMark = 0x40
const digits = 15
/** Bytes, and characters, of an expiry. */
export const expiryBytes = digits + 2

/** The key under which expiries are indexed: longer than keys of filter values may be. */
export const expiryKey = '@expiry'.padEnd(filterKeyBytesMax + 1, '.')

/** The filter of an object as JSON text, and its expiry. */
export interface StoredText {
  readonly filter: string
  /** Milliseconds since 1970; undefined: the object does not expire. */
  readonly expiresAt: number | undefined
}

/** Whether a stored text begins with an expiry. */
export function hasExpiry(text: string): boolean {
  return text.charCodeAt(0) === expiryMark
}

/** Writes a filter, as JSON text, with an expiry in milliseconds since 1970 in front of it if there is one. */
export function storedText(filter: string, expiresAt: number | undefined): string {
  return expiresAt === undefined ? filter : `@${String(expiresAt).padStart(digits, '0')};${filter}`
}

/** Splits a stored text into its filter and its expiry. */
export function splitText(text: string): StoredText {
  if (!hasExpiry(text)) return { filter: text, expiresAt: undefined }
  return { filter: text.slice(expiryBytes), expiresAt: Number(text.slice(1, digits + 1)) }
}

/** Returns the filter of a stored text, as JSON text. */
export function filterIn(text: string): string {
  return hasExpiry(text) ? text.slice(expiryBytes) : text
}

/** The text with another filter and the same expiry, if it has one. A filter that comes with an expiry of its own keeps that. */
export function withFilter(text: string, filter: string): string {
  return hasExpiry(text) && !hasExpiry(filter) ? text.slice(0, expiryBytes) + filter : filter
}
