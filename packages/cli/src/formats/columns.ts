// Converts rows of named columns (CSV, Parquet, SQL) to objects. The name of a column determines its part of the object:
//
//   id            the object's id; without this column the row number, from 0
//   fields.NAME   the text, vector, sparse terms or vectors of the field NAME
//   meta, filter  a whole JSON object; meta_base64 is meta in bytes
//   expires_at    when the object expires: a time, or milliseconds since 1970
//   meta.KEY      one value of meta, filter.KEY one filter value; any other name is a key of meta
import type { FieldValue, JsonObject, JsonValue, ObjectInput } from '@annal/client'
import { dataError, usageError } from '../exit-code.ts'
import { fieldValue } from './field-value.ts'
import { parseJson } from './parse-json.ts'

const parts = ['id', 'meta', 'meta_base64', 'filter', 'expires_at'] as const

export type Purpose =
  | { readonly kind: (typeof parts)[number] | 'nothing' }
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'meta key' | 'filter key'; readonly key: string }

export interface Column {
  readonly name: string
  readonly purpose: Purpose
}

/** `--column embedding=fields.text` maps a source column to a part of the object; an empty mapping skips the column. */
export type Renames = ReadonlyMap<string, string>

export function renamesOf(given: readonly string[]): Renames {
  const renames = new Map<string, string>()
  for (const text of given) {
    const separator = text.lastIndexOf('=')
    if (separator < 1)
      throw usageError(
        `--column ${text}: use NAME=fields.FIELD, NAME=meta.KEY, NAME=filter.KEY, NAME=expires_at or NAME=id`,
      )
    renames.set(text.slice(0, separator), text.slice(separator + 1))
  }
  return renames
}

/** More keys than the meta of an object can have. */
const columnsMax = 10_000

/** `source` is the name in messages. */
export function columnsOf(names: readonly string[], renames: Renames, source: string): readonly Column[] {
  for (const name of renames.keys()) {
    if (!names.includes(name)) throw usageError(`${source} has no column ${name}; its columns are ${names.join(', ')}`)
  }
  if (names.length > columnsMax) throw dataError(`${source} has ${names.length} columns; the limit is ${columnsMax}`)
  const columns = names.map((name): Column => ({ name, purpose: purposeOf(renames.get(name) ?? name) }))
  const seen = new Map<string, string>()
  for (const { name, purpose } of columns) {
    const use = JSON.stringify(purpose)
    const other = seen.get(use)
    if (other !== undefined && purpose.kind !== 'nothing') {
      throw usageError(`${source}: columns ${other} and ${name} map to the same part; choose one with --column`)
    }
    seen.set(use, name)
  }
  if (!columns.some(({ purpose }) => purpose.kind === 'field')) {
    throw usageError(
      `${source} has no column for a field; choose one with --column NAME=fields.FIELD; its columns are ${names.join(', ')}`,
    )
  }
  return columns
}

function purposeOf(name: string): Purpose {
  if (name === '') return { kind: 'nothing' }
  const part = parts.find((one) => one === name)
  if (part !== undefined) return { kind: part }
  const [, prefix, rest = name] = /^(fields|meta|filter)\.(.+)$/s.exec(name) ?? []
  if (prefix === 'fields') return { kind: 'field', field: rest }
  return { kind: prefix === 'filter' ? 'filter key' : 'meta key', key: rest }
}

export interface Row {
  /** Values in the order of the columns; undefined and null are skipped. */
  readonly values: readonly unknown[]
  /** Counts from 0. */
  readonly number: number
}

/** `texts` are the fields of type text: their values are taken as they are. */
export function objectOf(
  { values, number }: Row,
  columns: readonly Column[],
  source: string,
  texts: ReadonlySet<string>,
): ObjectInput {
  const fields: [string, FieldValue][] = []
  const meta: [string, JsonValue][] = []
  const filter: [string, JsonValue][] = []
  let id = String(number)
  let bytes: Uint8Array | undefined
  let expiresAt: string | number | undefined
  for (const [i, { name, purpose }] of columns.entries()) {
    const value = values[i]
    if (value === undefined || value === null) continue
    const where = `${source}, row ${number + 1}, column ${name}`
    if (value instanceof Date && Number.isNaN(value.getTime())) throw dataError(`${where}: the time is out of range`)
    if (purpose.kind === 'id') id = idOf(value, where)
    else if (purpose.kind === 'field') {
      const isText = texts.has(purpose.field)
      fields.push([purpose.field, isText ? textOf(value, where) : fieldValue(value, where)])
    } else if (purpose.kind === 'meta') meta.push(...Object.entries(jsonObject(value, where)))
    else if (purpose.kind === 'filter') filter.push(...Object.entries(jsonObject(value, where)))
    else if (purpose.kind === 'meta_base64') bytes = Buffer.from(String(value), 'base64')
    else if (purpose.kind === 'expires_at') expiresAt = expiryOf(value, where)
    else if (purpose.kind === 'meta key') meta.push([purpose.key, jsonOf(value)])
    else if (purpose.kind === 'filter key') filter.push([purpose.key, jsonOf(value)])
  }
  // An object has a value in some field. An empty text is one.
  const empty = fields.length > 0 ? undefined : columns.find((column) => isTextColumn(column, texts))?.purpose
  if (empty?.kind === 'field') fields.push([empty.field, ''])
  return {
    id,
    fields: Object.fromEntries(fields),
    ...(bytes !== undefined ? { meta: bytes } : meta.length > 0 && { meta: Object.fromEntries(meta) }),
    // The server validates filter values.
    ...(filter.length > 0 && { filter: Object.fromEntries(filter) as ObjectInput['filter'] }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function isTextColumn({ purpose }: Column, texts: ReadonlySet<string>): boolean {
  return purpose.kind === 'field' && texts.has(purpose.field)
}

function textOf(value: unknown, where: string): string {
  const plain = jsonOf(value)
  if (typeof plain === 'string') return plain
  if (typeof plain === 'number' || typeof plain === 'boolean') return String(plain)
  throw dataError(`${where}: a text field takes text, not ${shown(JSON.stringify(plain))}`)
}

function idOf(value: unknown, where: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value)
  throw dataError(`${where}: an id must be text or a number, not ${JSON.stringify(jsonOf(value))}`)
}

/** A number of a CSV file is text. The server checks the time. */
function expiryOf(value: unknown, where: string): string | number {
  const plain = jsonOf(value)
  if (typeof plain === 'string') return /^\d+$/.test(plain) ? Number(plain) : plain
  if (typeof plain === 'number') return plain
  throw dataError(`${where}: an expiry must be a time or milliseconds since 1970, not ${shown(JSON.stringify(plain))}`)
}

function jsonObject(value: unknown, where: string): JsonObject {
  const object = typeof value === 'string' ? parse(value, where) : jsonOf(value)
  // An object that is not an array has string keys.
  if (object !== null && typeof object === 'object' && !Array.isArray(object)) return object as JsonObject
  throw dataError(`${where}: not a JSON object: ${shown(value)}`)
}

function parse(text: string, where: string): JsonValue {
  try {
    // JSON.parse returns JSON.
    return parseJson(text) as JsonValue
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${where}: not a JSON object: ${shown(text)}`)
    throw error
  }
}

function shown(value: unknown): string {
  return String(value).slice(0, 60)
}

/** Values of typed columns that JSON cannot represent: large integers, times and bytes. */
function jsonOf(value: unknown): JsonValue {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value.toString()
  }
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array)
  if (Array.isArray(value)) return value.map(jsonOf)
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, jsonOf(inner)]))
  }
  // Everything else is JSON already, or is skipped.
  return (value ?? null) as JsonValue
}
