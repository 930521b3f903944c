// What can stand at a place of a body: properties and values of the API description, and the names that exist in the database.
import type { Schema, Schemas } from '../../api/server.ts'
import { operators } from '../filter/filter-draft.ts'
import { type Call, resolved } from './calls.ts'
import type { JsonPlace } from './json-place.ts'

/** Names of the collection that a path is about, and of all collections. */
export interface KnownNames {
  readonly collections: readonly string[]
  readonly fields: readonly string[]
  readonly filterKeys: readonly string[]
}

export interface Completion {
  /** As the list shows it. */
  readonly label: string
  readonly about: string | undefined
  /** As it stands in the body. */
  readonly inserted: string
}

const completionsMax = 50
const filterOperators = operators.map(([name]) => name)
const logic = ['$and', '$or', '$not']
/** Properties whose values are names. */
const namedBy: { readonly [key: string]: keyof KnownNames } = {
  ...{ field: 'fields', from: 'fields', key: 'filterKeys' },
  ...{ collection: 'collections', target_collection_name: 'collections' },
}

export function completionsAt(
  place: JsonPlace,
  body: Schema | undefined,
  schemas: Schemas,
  known: KnownNames,
): readonly Completion[] {
  const found = place.kind === 'key' ? keysAt(place, body, schemas, known) : valuesAt(place, body, schemas, known)
  const typed = place.typed.toLowerCase()
  const unique = new Map(found.map((one) => [one.label, one]))
  return [...unique.values()]
    .filter(
      ({ label }) => label.toLowerCase().includes(typed) && !(place.kind === 'key' && place.siblings.includes(label)),
    )
    .sort((a, b) => Number(b.label.toLowerCase().startsWith(typed)) - Number(a.label.toLowerCase().startsWith(typed)))
    .slice(0, completionsMax)
}

function keysAt(
  { path }: JsonPlace,
  body: Schema | undefined,
  schemas: Schemas,
  known: KnownNames,
): readonly Completion[] {
  const inFilter = path.lastIndexOf('filter')
  const below = inFilter === -1 ? [] : path.slice(inFilter + 1).filter((part) => typeof part === 'string')
  const nested = below.filter((part) => !logic.includes(part))
  if (inFilter !== -1 && nested.length > 0) return filterOperators.map((name) => keyCompletion(name, 'condition'))
  if (inFilter !== -1) {
    const keys = known.filterKeys.map((name) => keyCompletion(name, 'filter key'))
    // The filter of a stored object is an object, that of a search a list.
    const isCondition = path.length > inFilter + 1
    return isCondition ? [...keys, ...logic.map((name) => keyCompletion(name, 'conditions'))] : keys
  }
  const all = schemasAt(body, path, schemas)
  const properties = all.flatMap((schema) => Object.entries(schema.properties ?? {}))
  const last = path.at(-1)
  const isMap = all.some(({ additionalProperties }) => typeof additionalProperties === 'object')
  const names = isMap && (last === 'fields' || last === 'weights') ? known.fields : []
  return [
    ...names.map((name) => keyCompletion(name, 'field')),
    ...properties.map(([name, given]) =>
      keyCompletion(name, resolved(given, schemas).description ?? given.description),
    ),
  ]
}

function valuesAt(
  { path }: JsonPlace,
  body: Schema | undefined,
  schemas: Schemas,
  known: KnownNames,
): readonly Completion[] {
  const key = [...path].reverse().find((part) => typeof part === 'string')
  const named = typeof key === 'string' && Object.hasOwn(namedBy, key) ? namedBy[key] : undefined
  const names = named === undefined ? [] : known[named].map((name) => valueCompletion(name, nameKinds[named]))
  const literals = schemasAt(body, path, schemas).flatMap((schema): Completion[] => {
    if (schema.const !== undefined) return [valueCompletion(schema.const, schema.description)]
    if (schema.enum !== undefined) return schema.enum.map((value) => valueCompletion(value, undefined))
    return schema.type === 'boolean' ? [true, false].map((value) => valueCompletion(value, undefined)) : []
  })
  return [...names, ...literals]
}

const nameKinds = { collections: 'collection', fields: 'field', filterKeys: 'filter key' } as const

function keyCompletion(name: string, about: string | undefined): Completion {
  return { label: name, about, inserted: `${JSON.stringify(name)}: ` }
}

function valueCompletion(value: unknown, about: string | undefined): Completion {
  const text = JSON.stringify(value)
  return { label: typeof value === 'string' ? value : text, about, inserted: text }
}

/** The schemas that describe a place: several if there are alternatives. */
function schemasAt(body: Schema | undefined, path: JsonPlace['path'], schemas: Schemas): readonly Schema[] {
  let current = body === undefined ? [] : alternatives(body, schemas)
  for (const part of path) {
    const inner = current.flatMap((schema) => {
      if (typeof part === 'number') return schema.items === undefined ? [] : [schema.items]
      const property =
        schema.properties !== undefined && Object.hasOwn(schema.properties, part) && schema.properties[part]
      if (property) return [property]
      return typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []
    })
    current = inner.flatMap((schema) => alternatives(schema, schemas))
  }
  return current
}

const depthMax = 8

function alternatives(given: Schema, schemas: Schemas, depth = 0): readonly Schema[] {
  const schema = resolved(given, schemas)
  if (schema.anyOf === undefined || depth > depthMax) return [schema]
  return [schema, ...schema.anyOf.flatMap((one) => alternatives(one, schemas, depth + 1))]
}

const offeredMax = 300

/** Paths to choose from: the templates, and those of a collection whose name is written, or of each collection. */
export function pathsFor(
  calls: readonly Call[],
  {
    method,
    path,
    collections,
    fields,
  }: {
    readonly method: string
    readonly path: string
    readonly collections: readonly string[]
    readonly fields: readonly string[]
  },
): readonly { readonly path: string; readonly summary: string }[] {
  const own = calls.filter((call) => call.method === method)
  const written = collectionOf(path)
  const names = written !== undefined && collections.includes(written) ? [written] : collections
  const filled = own.flatMap(({ template, summary }) => {
    const [whole] = collectionTemplate.exec(template) ?? []
    if (whole === undefined) return []
    // Without a name in the path, only the routes right below a collection: their number is that of the collections.
    if (names.length > 1 && template !== whole) return []
    return names.flatMap((name) => {
      const named = template.replace('{name}', () => encodeURIComponent(name))
      if (!named.includes('{field}')) return [{ path: named, summary }]
      return fields.map((field) => ({ path: named.replace('{field}', () => encodeURIComponent(field)), summary }))
    })
  })
  return [...filled, ...own.map(({ template, summary }) => ({ path: template, summary }))].slice(0, offeredMax)
}

const collectionTemplate = /^\/api\/v2\/collection\/\{name\}/

/** The name of the collection in a path. */
export function collectionOf(path: string): string | undefined {
  const name = /^\/api\/v2\/collection\/([^/?]+)/.exec(path)?.[1]
  if (name === undefined) return undefined
  try {
    return decodeURIComponent(name)
  } catch {
    return undefined
  }
}
