// JSON Lines: one object per line, as the collection API accepts it: {"id","meta","filter","expires_at","fields":{name: value}}.
import type { FieldValue, JsonObject, ObjectInput, StoredObject } from '@annal/client'
import { dataError } from '../exit-code.ts'
import { jsonText } from './json-text.ts'
import { linesOf } from './lines.ts'
import { expiryText, fieldsOfObject, keptMeta } from './object-parts.ts'
import { parseJson, TooDeep } from './parse-json.ts'

/** An object at the limits of meta and of a multi-vector field takes less. */
export const valueCharactersMax = 64 * 1024 * 1024

export async function* readJsonl(file: string, firstRow: number): AsyncGenerator<ObjectInput> {
  let [number, row] = [0, 0]
  for await (const line of linesOf(file, valueCharactersMax)) {
    number += 1
    if (line.trim() === '') continue
    // Some programs mark the encoding at the beginning.
    const text = number === 1 ? line.replace(/^\ufeff/, '') : line
    if (row >= firstRow) yield recordOf(text, `${file}, line ${number}`)
    row += 1
  }
}

/** The object of a line; `where` precedes errors. */
export function recordOf(line: string, where: string): ObjectInput {
  const value = parseObject(line, where)
  if (typeof value.id !== 'string' && typeof value.id !== 'number') throw dataError(`${where}: missing id`)
  if (value.fields === null || typeof value.fields !== 'object' || Array.isArray(value.fields)) {
    throw dataError(`${where}: fields must be an object of vectors by name`)
  }
  const { meta, meta_base64: bytes, filter, expires_at: expiresAt, ttl_seconds: ttlSeconds } = value
  return {
    id: String(value.id),
    // The server reports errors inside an object and names the field.
    fields: value.fields as unknown as Record<string, FieldValue>,
    ...(typeof bytes === 'string' && { meta: Buffer.from(bytes, 'base64') }),
    ...(meta != null && { meta: meta as JsonObject }),
    ...(filter != null && { filter: filter as ObjectInput['filter'] }),
    ...(expiresAt != null && { expiresAt: expiresAt as string | number }),
    ...(ttlSeconds != null && { ttlSeconds: ttlSeconds as number }),
  }
}

function parseObject(line: string, where: string): JsonObject {
  try {
    const value = parseJson(line)
    // An object that is not an array has string keys, and JSON.parse returns JSON.
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonObject
  } catch (error) {
    if (error instanceof TooDeep) throw dataError(`${where}: ${error.message}`)
    if (!(error instanceof SyntaxError)) throw error
  }
  throw dataError(`${where}: not a JSON object`)
}

export function jsonLine(object: StoredObject): string {
  const { id, filter } = object
  const expires_at = expiryText(object)
  const expiry = expires_at === undefined ? {} : { expires_at }
  return `${jsonText({ id, ...keptMeta(object), filter, ...expiry, fields: fieldsOfObject(object) })}\n`
}
