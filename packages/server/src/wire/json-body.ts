// Parses JSON from clients: UTF-8 only, of limited depth, and without the key `__proto__`, because careless copying of such a key
// changes the prototype of all objects.
import { isAscii, isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { ServerError } from '../errors.ts'
import { bodyElementsMax, bodyNodesMax, jsonBodyDepthMax } from '../limits.ts'
import { scanNumbers } from './number-scan.ts'
import type { ScannedNumbers } from './numbers.ts'

/** Shorter texts are parsed first and measured afterwards, because even one that consists of brackets takes little memory. */
const scanFromBytes = 262_144
const protoKey =
  /"(?:_|\\u005[Ff]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[Ff])(?:t|\\u0074)(?:o|\\u006[Ff])(?:_|\\u005[Ff]){2}"\s*:/

/** Parses a body. Throws invalid_json, limit_exceeded. */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0)
    throw new ServerError('invalid_json', 'the body is empty, but JSON is expected', { field: 'body' })
  // Reading ASCII as Latin-1 is a plain copy, and almost every body is ASCII.
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) throw new ServerError('invalid_json', 'the body is not valid UTF-8', { field: 'body' })
  return parseJsonText(bytes.toString(ascii ? 'latin1' : 'utf8'), 'body')
}

/** Placeholder in the text for numbers that were already read. Clients cannot guess it. */
const mark = randomUUID()
const markBytes = Buffer.from(JSON.stringify(mark))

/** The key of the query vector, in the quotes of JSON. */
export type VectorKey = '"vector"' | '"query"'

/** Parses a body. The numbers after the first key that holds a query vector are read directly from the bytes. */
export function parseQuery(bytes: Buffer, key: VectorKey): unknown {
  const scanned = scanNumbers(bytes, key)
  if (scanned !== undefined) {
    const rest = Buffer.concat([bytes.subarray(0, scanned.from), markBytes, bytes.subarray(scanned.end)])
    const value = parseBody(rest)
    if (putNumbers(value, scanned.numbers)) return value
  }
  // Parsed again, so that errors refer to the original text.
  return parseJsonBody(bytes)
}

function parseBody(bytes: Buffer): unknown {
  try {
    return parseJsonBody(bytes)
  } catch (error) {
    if (error instanceof ServerError) return undefined
    throw error
  }
}

/** Puts the numbers where the query has its vector. Returns false if the mark is not there, so the numbers belong elsewhere. */
function putNumbers(value: unknown, numbers: ScannedNumbers): boolean {
  if (!isContainer(value)) return false
  if (value.vector === mark) {
    value.vector = numbers
    return true
  }
  for (const fields of Array.isArray(value.fields) ? value.fields : [value.fields]) {
    if (!isContainer(fields)) continue
    for (const field of Object.values(fields)) {
      if (!isContainer(field) || field.query !== mark) continue
      field.query = numbers
      return true
    }
  }
  return false
}

/** Parses JSON text inside another value, such as a filter sent as text. */
export function parseJsonText(text: string, field: string): unknown {
  if (text.length >= scanFromBytes) scanShape(text, field)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // A body is too long to be repeated.
    const details = field === 'body' ? { field } : { field, value: text }
    throw new ServerError('invalid_json', `${field} is not valid JSON`, details, { cause: error })
  }
  if (mayHoldProtoKey(text) && protoKey.test(text)) {
    throw new ServerError('invalid_argument', `${field} contains the key __proto__`, { field, value: '__proto__' })
  }
  if (mayBeDeep(text) && depthExceeds(value, jsonBodyDepthMax)) throw tooDeep(field)
  return value
}

/** The regular expression is slow on long texts. Two plain searches exclude it for almost all of them. */
function mayHoldProtoKey(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

/** A text with few brackets cannot nest deeply. */
function mayBeDeep(text: string): boolean {
  let brackets = 0
  for (const bracket of ['[', '{']) {
    for (let offset = text.indexOf(bracket); offset >= 0; offset = text.indexOf(bracket, offset + 1)) {
      brackets += 1
      if (brackets > jsonBodyDepthMax) return true
    }
  }
  return false
}

/**
 * Counts brackets, keys, and elements outside of strings, so that a text that would become too many objects is rejected before it
 * is parsed.
 */
function scanShape(text: string, field: string): void {
  let depth = 0
  let nodes = 0
  let separators = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 0x22) {
      for (i++; i < text.length; i++) {
        const inner = text.charCodeAt(i)
        if (inner === 0x22) break
        if (inner === 0x5c) i++
      }
    } else if (unit === 0x5b || unit === 0x7b) {
      depth += 1
      if (depth > jsonBodyDepthMax) throw tooDeep(field)
      nodes += 1
    } else if (unit === 0x5d || unit === 0x7d) depth -= 1
    else if (unit === 0x3a) nodes += 1
    else if (unit === 0x2c && ++separators >= bodyElementsMax) throw tooManyElements(field)
  }
  if (nodes <= bodyNodesMax) return
  const message = `${field} has more than ${bodyNodesMax} arrays, objects, and keys`
  throw new ServerError('limit_exceeded', message, { field, limit: bodyNodesMax })
}

function tooManyElements(field: string): ServerError {
  const message = `${field} has more than ${bodyElementsMax} values`
  return new ServerError('limit_exceeded', message, { field, limit: bodyElementsMax })
}

/** Goes level by level instead of by recursion, because the value may be nested deeper than the stack allows. */
export function depthExceeds(value: unknown, depthMax: number): boolean {
  let level: object[] = []
  collect(value, level)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= depthMax) return true
    const next: object[] = []
    for (const container of level) {
      const children: readonly unknown[] = Array.isArray(container) ? container : Object.values(container)
      for (let i = 0; i < children.length; i++) collect(children[i], next)
    }
    level = next
  }
  return false
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function collect(value: unknown, containers: object[]): void {
  if (isContainer(value)) containers.push(value)
}

/** The error for a value that nests too deeply. */
export function tooDeep(field: string): ServerError {
  return new ServerError('limit_exceeded', `${field} nests deeper than ${jsonBodyDepthMax} levels`, {
    field,
    limit: jsonBodyDepthMax,
  })
}
