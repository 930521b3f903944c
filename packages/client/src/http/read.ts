// Reads the parts of a reply and validates each.
import { AnnalError } from '../errors.ts'
import type { JsonObject } from '../model.ts'

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    if (error instanceof SyntaxError) throw unexpected('JSON', body.slice(0, 80))
    throw error
  }
}

export function parseObject(value: unknown): JsonObject {
  // JSON.parse returns JSON.
  return object(value, 'reply') as JsonObject
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unexpected(what, value)
}

export function object(value: unknown, what: string): Record<string, unknown> {
  // An object that is not an array has string keys, which is all that a Record requires.
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  throw unexpected(what, value)
}

export function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw unexpected(what, value)
}

export function number(value: unknown, what: string): number {
  if (typeof value === 'number') return value
  throw unexpected(what, value)
}

/** Seconds since 1970, or a date as text. */
export function moment(value: unknown, what: string): Date {
  const date = new Date(typeof value === 'number' ? value * 1_000 : text(value, what))
  if (Number.isNaN(date.getTime())) throw unexpected(what, value)
  return date
}

export function flag(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value
  throw unexpected(what, value)
}

export function floats(value: unknown, what: string): Float32Array {
  // Values other than numbers become NaN, which the next check detects.
  const vector = Float32Array.from(list(value, what) as number[])
  if (vector.some(Number.isNaN)) throw unexpected(what, 'not a list of numbers')
  return vector
}

export function unexpected(what: string, value: unknown): AnnalError {
  const seen = value === null ? 'null' : typeof value === 'string' ? JSON.stringify(value) : typeof value
  return new AnnalError('invalid_reply', `the server's reply has no valid ${what}: ${seen}`, { field: what })
}
