// Numbers given by users, checked against their limits; ids.ts does the same for texts.
import { EngineError } from '../errors.ts'
import { printed, shownValue } from './ids.ts'

/** Throws invalid_argument for a value that is not a whole number, limit_exceeded for one outside its limits. */
export function wholeNumber(value: unknown, field: string, min: number, max: number): number {
  if (!Number.isInteger(value)) throw notA('whole number', value, field)
  return finiteNumber(value, field, min, max)
}

/** Throws invalid_argument for a value that is not a finite number, limit_exceeded for one outside its limits. */
export function finiteNumber(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw notA('finite number', value, field)
  if (value >= min && value <= max) return value
  throw new EngineError('limit_exceeded', `${field} is ${value}, but it must be between ${min} and ${max}`, {
    field,
    value,
    limit: value < min ? min : max,
  })
}

function notA(what: string, value: unknown, field: string): EngineError {
  const details = { field, value: shownValue(value) }
  return new EngineError('invalid_argument', `${field} must be a ${what}, got ${printed(value)}`, details)
}
