// JSON Lines: an object a line, as the collection API takes it: {"id","meta","filter","fields":{name: value}}.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { FieldValue, JsonObject, ObjectRecord, StoredObject } from '@annal/client'
import { usageError } from '../exit-code.ts'

export async function* readJsonl(file: string): AsyncGenerator<ObjectRecord> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    if (line.trim() !== '') yield recordOf(line, `${file}, line ${number}`)
  }
}

function recordOf(line: string, at: string): ObjectRecord {
  const value = parsed(line, at)
  if (typeof value.id !== 'string' && typeof value.id !== 'number') throw usageError(`${at}: there is no id`)
  if (value.fields === null || typeof value.fields !== 'object' || Array.isArray(value.fields)) {
    throw usageError(`${at}: fields is not an object of vectors by name`)
  }
  const { meta, meta_base64: bytes, filter } = value
  return {
    id: String(value.id),
    // What is wrong inside is told by the server, which names the field.
    fields: value.fields as unknown as Record<string, FieldValue>,
    ...(typeof bytes === 'string' && { meta: Buffer.from(bytes, 'base64') }),
    ...(meta != null && { meta: meta as JsonObject }),
    ...(filter != null && { filter: filter as ObjectRecord['filter'] }),
  }
}

function parsed(line: string, at: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line)
    // An object that is no array has string keys, and what JSON.parse made is JSON.
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonObject
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw usageError(`${at}: it is not a JSON object`)
}

export function jsonLine({ id, meta, filter, dense, sparse, multi }: StoredObject): string {
  const fields = {
    ...mapped(dense, ({ vector }) => Array.from(vector)),
    ...mapped(sparse, ({ indices, values }) => ({ indices: Array.from(indices), values: Array.from(values) })),
    ...mapped(multi, (vectors) => vectors.map((vector) => Array.from(vector))),
  }
  const kept = meta instanceof Uint8Array ? { meta_base64: Buffer.from(meta).toString('base64') } : { meta }
  return `${JSON.stringify({ id, ...kept, filter, fields })}\n`
}

function mapped<T, U>(from: { readonly [name: string]: T }, change: (value: T) => U): { [name: string]: U } {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}
