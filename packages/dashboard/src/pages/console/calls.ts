// The calls that openapi.json describes, example bodies, and the properties of bodies.
import type { OpenApi, Schema, Schemas } from '../../api/server.ts'

export interface Call {
  readonly method: string
  readonly template: string
  readonly summary: string
  readonly body: Schema | undefined
}

export function callsOf({ paths }: OpenApi): readonly Call[] {
  return Object.entries(paths).flatMap(([template, operations]) =>
    Object.entries(operations).map(([method, { summary, requestBody }]) => ({
      method: method.toUpperCase(),
      template,
      summary,
      body: requestBody?.content['application/json']?.schema,
    })),
  )
}

/** The call that a path belongs to. Paths without parameters match first. */
export function matching(calls: readonly Call[], method: string, path: string): Call | undefined {
  const plain = path.split('?')[0] as string
  return calls
    .filter((call) => call.method === method && patternOf(call.template).test(plain))
    .sort((a, b) => parameters(a.template) - parameters(b.template))[0]
}

function parameters(template: string): number {
  return template.split('{').length
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

const depthMax = 6
/** Stands for the names of a map, such as the fields of an object. */
const nameOfEntry = 'name'

/** A body with the required properties. */
export function bodyExample(given: Schema, schemas: Schemas = {}, depth = 0): unknown {
  const schema = resolved(given, schemas)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  const example = (inner: Schema) => bodyExample(inner, schemas, depth + 1)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (depth > depthMax) return null
  if (schema.anyOf?.[0] !== undefined) return example(schema.anyOf[0])
  switch (type) {
    case 'object': {
      const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
      const { additionalProperties: entry } = schema
      const entries = typeof entry === 'object' ? [[nameOfEntry, example(entry)] as const] : []
      return Object.fromEntries([...required.map(([name, property]) => [name, example(property)] as const), ...entries])
    }
    case 'array':
      return schema.items === undefined ? [] : [example(schema.items)]
    case 'string':
      return ''
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return false
    default:
      return null
  }
}

/** A property of a body, however deep: `fields[].params.language`. */
export interface BodyProperty {
  readonly path: string
  readonly type: string
  readonly description: string | undefined
  readonly required: boolean
}

/** The properties of a body in order. What refers to itself, such as a condition, is listed once. */
export function propertiesOf(body: Schema, schemas: Schemas): readonly BodyProperty[] {
  const found = new Map<string, BodyProperty>()
  const visit = (given: Schema, path: string, parents: ReadonlySet<Schema>): void => {
    const schema = resolved(given, schemas)
    if (parents.has(schema)) return
    const inner = new Set(parents).add(schema)
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const place = path === '' ? name : `${path}.${name}`
      const { type, description } = { ...resolved(property, schemas), ...property }
      const required = schema.required?.includes(name) ?? false
      if (!found.has(place)) found.set(place, { path: place, type: typeText(type), description, required })
      visit(property, place, inner)
    }
    if (schema.items !== undefined) visit(schema.items, `${path}[]`, inner)
    const { additionalProperties: entry } = schema
    if (typeof entry === 'object') visit(entry, `${path}.<${nameOfEntry}>`, inner)
    for (const choice of schema.anyOf ?? []) visit(choice, path, inner)
  }
  visit(body, '', new Set())
  return [...found.values()]
}

function typeText(type: Schema['type']): string {
  return typeof type === 'string' ? type : (type ?? []).join(' or ')
}

const refStart = '#/components/schemas/'

export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.startsWith(refStart) ? schema.$ref.slice(refStart.length) : undefined
  return name === undefined ? schema : (schemas[name] ?? schema)
}
