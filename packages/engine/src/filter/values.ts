// Filter values as stored: a JSON object that belongs to an object. They are checked once, here, before the append.
// Every key is data, even `__proto__`, and never becomes a key of an internal dictionary.
import { EngineError } from '../errors.ts'
import { filterBytesMax, filterKeyBytesMax, filterKeysMax, filterStringBytesMax, jsonDepthMax } from '../limits.ts'
import type { JsonObject, JsonValue } from '../model/json.ts'
import { isInexactTimestamp } from './timestamp.ts'

export interface ParsedFilterValues {
  /** The stored and returned form: the text as received, or the object as JSON. */
  readonly text: string
  readonly values: JsonObject
}

/** Like parseFilterValues, for new values: also refuses values that cannot be compared exactly. */
export function parseNewFilterValues(raw: JsonObject | string, path = 'filter'): ParsedFilterValues {
  const result = parseFilterValues(raw, path)
  checkExact(result.values, path)
  return result
}

/** `path` names the values in errors. Throws EngineError invalid_argument or limit_exceeded. The text '' means no filter values. */
export function parseFilterValues(raw: JsonObject | string, path = 'filter'): ParsedFilterValues {
  if (raw === '') return { text: '', values: {} }
  if (typeof raw === 'string') {
    checkBytes(raw, path, filterBytesMax)
    return { text: raw, values: objectOf(parseJson(raw, path), path) }
  }
  const values = objectOf(raw, path)
  const text = JSON.stringify(values)
  checkBytes(text, path, filterBytesMax)
  return { text, values }
}

function parseJson(text: string, path: string): unknown {
  if (!text.isWellFormed()) throw invalid(path, 'is not well-formed Unicode', undefined)
  try {
    return JSON.parse(text)
  } catch (cause) {
    const details = { field: path, value: formatValue(text) }
    throw new EngineError('invalid_argument', `${path} is not JSON: ${formatValue(text)}`, details, { cause })
  }
}

function objectOf(raw: unknown, path: string): JsonObject {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw invalid(path, 'must be an object of keys and values, such as {"color":"red"}', raw)
  }
  checkValue(raw, path, 1)
  // Checked above: own keys and plain JSON values at every level.
  return raw as JsonObject
}

function checkValue(value: unknown, path: string, depth: number): asserts value is JsonValue {
  if (value === null || typeof value === 'boolean') return
  if (typeof value === 'string') return checkText(value, path, filterStringBytesMax)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw invalid(path, 'must be a finite number', value)
    return
  }
  if (typeof value !== 'object')
    throw invalid(path, 'must be JSON: a string, number, boolean, null, array, or object', value)
  if (depth > jsonDepthMax)
    throw tooMuch(path, `is nested deeper than ${jsonDepthMax} levels`, { value: depth, limit: jsonDepthMax })
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkValue(element, `${path}[${index}]`, depth + 1)
    return
  }
  checkObject(value, path, depth)
}

function checkObject(value: object, path: string, depth: number): void {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) throw invalid(path, 'must be a plain object', value)
  const entries = Object.entries(value)
  if (entries.length > filterKeysMax) {
    const amounts = { value: entries.length, limit: filterKeysMax }
    throw tooMuch(path, `has ${entries.length} keys, but the limit is ${filterKeysMax}`, amounts)
  }
  for (const [key, inner] of entries) {
    checkText(key, path, filterKeyBytesMax, 'has a key that')
    checkValue(inner, `${path}.${formatValue(key)}`, depth + 1)
  }
}

/** Whole numbers beyond 2^53 have no exact form; neither have microseconds in times far from now. */
function checkExact(value: unknown, path: string): void {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return
    const what = `is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which cannot be stored exactly; use a string`
    throw invalid(path, what, value)
  }
  if (typeof value === 'string') {
    if (isInexactTimestamp(value)) {
      throw invalid(
        path,
        'has fractions of a millisecond in a year before 1692 or after 2247, where they cannot be compared exactly',
        value,
      )
    }
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) checkExact(inner, `${path}.${formatValue(key)}`)
}

function checkText(text: string, path: string, bytesMax: number, what = ''): void {
  if (!text.isWellFormed()) throw invalid(path, `${what} is not well-formed Unicode`.trimStart(), undefined)
  checkBytes(text, path, bytesMax, what)
}

function checkBytes(text: string, path: string, bytesMax: number, what = ''): void {
  // A UTF-16 unit has at most three bytes of UTF-8, so most strings need no exact count.
  if (text.length * 3 <= bytesMax) return
  const bytes = Buffer.byteLength(text)
  if (bytes <= bytesMax) return
  const message = `${what} is ${bytes} bytes long, but the limit is ${bytesMax}`.trimStart()
  throw tooMuch(path, message, { value: bytes, limit: bytesMax })
}

function invalid(path: string, what: string, value: unknown): EngineError {
  const given = value === undefined ? '' : `, not ${formatValue(value)}`
  return new EngineError('invalid_argument', `${path} ${what}${given}`, { field: path, value: plainValue(value) })
}

function tooMuch(path: string, what: string, amounts: { readonly value: number; readonly limit: number }): EngineError {
  return new EngineError('limit_exceeded', `${path} ${what}`, { field: path, ...amounts })
}

/** A value as the details of an error state it: itself, or for a text, a list, or an object at most one line. */
export function plainValue(value: unknown): string | number | boolean | null {
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : formatValue(value)
}

/** Formats a value for an error message, at most one line long. */
export function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (jsonOf(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77).toWellFormed()}...` : text
}

function jsonOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  try {
    return JSON.stringify(value)
  } catch (error) {
    return error instanceof Error ? `a value that is not JSON (${error.message.split('\n')[0]})` : undefined
  }
}
