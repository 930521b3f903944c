// Keys of a body that its schema does not name: most are misspelled, and what they ask for would silently not happen.
import type { TSchema } from '@sinclair/typebox'
import { isObject } from './object-parts.ts'

export interface UnknownKey {
  /** Where it stands: `fields.dense.limt`. */
  readonly path: string
  /** A key of the schema that was probably meant. */
  readonly meant: string | undefined
}

/** More than so many are not named. */
export const unknownKeysMax = 8

/** What the values of an object have whose own keys are the caller's, such as names of fields. */
const entrySchemas = new WeakMap<TSchema, TSchema>()

export function withEntries<T extends TSchema>(schema: T, entry: TSchema): T {
  entrySchemas.set(schema, entry)
  return schema
}

export function unknownKeys(schema: TSchema, body: unknown): UnknownKey[] {
  const found: UnknownKey[] = []
  visit(schema, body, '', found)
  return found
}

/** The same of one entry of the list that the body is, or has under one of its keys. */
export function unknownKeysOfEntry(schema: TSchema, entry: unknown, position: number): UnknownKey[] {
  const { list, path } = listOf(schema)
  const found: UnknownKey[] = []
  if (list !== undefined) visit(list, entry, `${path}[${position}]`, found)
  return found
}

function listOf(schema: TSchema): { readonly list: TSchema | undefined; readonly path: string } {
  const own = listSchema(schema)
  if (own !== undefined) return { list: own, path: '' }
  for (const [path, inner] of Object.entries(propertiesOf(schema) ?? {})) {
    const list = listSchema(inner)
    if (list !== undefined) return { list, path }
  }
  return { list: undefined, path: '' }
}

function visit(schema: TSchema, value: unknown, path: string, found: UnknownKey[]): void {
  if (found.length >= unknownKeysMax) return
  if (Array.isArray(value)) {
    const list = listSchema(schema)
    if (list !== undefined) value.forEach((item, i) => void visit(list, item, `${path}[${i}]`, found))
    return
  }
  if (!isObject(value)) return
  const entry = entrySchemas.get(schema)
  if (entry !== undefined) {
    for (const [key, inner] of Object.entries(value)) visit(entry, inner, `${path}.${key}`, found)
    return
  }
  const properties = propertiesOf(schema)
  if (properties === undefined) return
  const names = Object.keys(properties)
  for (const [key, inner] of Object.entries(value)) {
    if (found.length >= unknownKeysMax) return
    const place = path === '' ? key : `${path}.${key}`
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (known === undefined) found.push({ path: place, meant: nearest(key, names) })
    else visit(known, inner, place, found)
  }
}

/** Objects whose keys are the caller's may also come as a list of such objects. */
function listSchema(schema: TSchema): TSchema | undefined {
  if (entrySchemas.has(schema)) return schema
  return alternatives(schema).find(({ type }) => type === 'array')?.items as TSchema | undefined
}

function propertiesOf(schema: TSchema): Readonly<Record<string, TSchema>> | undefined {
  const properties = alternatives(schema).find(({ type }) => type === 'object')?.properties as
    | Readonly<Record<string, TSchema>>
    | undefined
  // An object of which nothing is said takes any keys.
  return properties !== undefined && Object.keys(properties).length > 0 ? properties : undefined
}

function alternatives(schema: TSchema): readonly TSchema[] {
  return (schema.anyOf as readonly TSchema[] | undefined) ?? [schema]
}

/** What others call the same. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  top_k: ['k', 'limit'],
  topk: ['k', 'limit'],
  k: ['limit'],
  limit: ['k'],
  where: ['filter'],
  metadata: ['meta'],
  payload: ['meta'],
  values: ['vector', 'fields'],
  embedding: ['vector', 'fields'],
}

function nearest(key: string, names: readonly string[]): string | undefined {
  const other = otherNames[key.toLowerCase().replaceAll('-', '_')]?.find((name) => names.includes(name))
  if (other !== undefined) return other
  const plain = plainForm(key)
  const least = names
    .map((name) => ({ name, edits: edits(plain, plainForm(name)) }))
    .sort((a, b) => a.edits - b.edits)[0]
  return least !== undefined && least.edits <= Math.floor(plain.length / 3) ? least.name : undefined
}

function plainForm(name: string): string {
  return name.slice(0, 64).toLowerCase().replaceAll(/[_-]/g, '')
}

/** Letters put in, left out or replaced between two words. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
