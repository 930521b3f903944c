// Finds the keys of a body that its schema does not define. Most are misspelled, and ignoring them would silently ignore what the
// client wanted.
import type { TSchema } from '@sinclair/typebox'
import { isObject } from '../json-object.ts'

/** A key that the schema does not define. */
export interface UnknownKey {
  /** Path of the key: `fields.dense.limt`. */
  readonly path: string
  /** The key of the schema that was probably meant. */
  readonly meant: string | undefined
}

/** Maximum number of keys that an error names. */
export const unknownKeysMax = 8

/** Schemas of the values of objects whose keys the caller chooses, such as names of fields. */
const entrySchemas = new WeakMap<TSchema, TSchema>()

/** A schema of an object whose keys the caller chooses, all with values of the schema `entry`. */
export function withEntries<T extends TSchema>(schema: T, entry: TSchema): T {
  entrySchemas.set(schema, entry)
  return schema
}

/** The unknown keys of a body, at most unknownKeysMax. */
export function unknownKeys(schema: TSchema, body: unknown): UnknownKey[] {
  const found: UnknownKey[] = []
  visit(schema, body, '', found)
  return found
}

/** The same for one entry of a list. The list is the body or the value of one of its keys. */
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

/** An object whose keys the caller chooses may also be sent as a list of objects. */
function listSchema(schema: TSchema): TSchema | undefined {
  if (entrySchemas.has(schema)) return schema
  return alternatives(schema).find(({ type }) => type === 'array')?.items as TSchema | undefined
}

function propertiesOf(schema: TSchema): Readonly<Record<string, TSchema>> | undefined {
  const properties = alternatives(schema).find(({ type }) => type === 'object')?.properties as
    | Readonly<Record<string, TSchema>>
    | undefined
  // An object without a schema accepts any keys.
  return properties !== undefined && Object.keys(properties).length > 0 ? properties : undefined
}

function alternatives(schema: TSchema): readonly TSchema[] {
  return (schema.anyOf as readonly TSchema[] | undefined) ?? [schema]
}

/** Names that other databases use for the same keys. A map, because every object has a property `constructor`. */
const otherNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['top_k', ['k', 'limit']],
  ['topk', ['k', 'limit']],
  ['k', ['limit']],
  ['limit', ['k']],
  ['where', ['filter']],
  ['metadata', ['meta']],
  ['payload', ['meta']],
  ['values', ['vector', 'fields']],
  ['embedding', ['vector', 'fields']],
  ['metric', ['space_type']],
  ['metric_type', ['space_type']],
  ['distance', ['space_type']],
  ['dim', ['dimension']],
  ['size', ['dimension']],
])

/** The name that was probably meant. */
export function nearest(key: string, names: readonly string[]): string | undefined {
  const other = otherNames.get(key.toLowerCase().replaceAll('-', '_'))?.find((name) => names.includes(name))
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

/** The number of letters inserted, removed, or replaced between two words. */
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
