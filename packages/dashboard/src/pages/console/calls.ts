// The calls that openapi.json describes, and example bodies.
import type { OpenApi, Schema } from '../../api/server.ts'

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

/** A body with the required properties. */
export function bodyExample(schema: Schema, depth = 0): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (schema.enum !== undefined) return schema.enum[0]
  if (depth > depthMax) return null
  switch (type) {
    case 'object': {
      const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
      return Object.fromEntries(required.map(([name, property]) => [name, bodyExample(property, depth + 1)]))
    }
    case 'array':
      return schema.items === undefined ? [] : [bodyExample(schema.items, depth + 1)]
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
