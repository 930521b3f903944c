// Requests to every operation of openapi.json, with bodies and parameters generated from their schemas, then changed at random.
import { encode } from '@msgpack/msgpack'
import type { Description, Schema } from '../openapi/description.ts'
import type { Choices } from './choices.ts'
import { idOf, names, passing, vectorOf } from './contents.ts'
import type { Plan } from './hot-requests.ts'

/** Their replies are about the moment or about the process, have no end, or they start jobs that run in the background. */
const excluded = [
  /^\/metrics$/,
  /\/openapi\.json$/,
  /\/(stats|logs|log|info|configuration)(\/|$)/,
  /\/changes$/,
  /\/(rebuild|backup|clone|restore|vacuum|schedule|schedules|verify|calibrate)$/,
  /\/shrink$/,
  /\/backups?\/upload$/,
]

interface DescribedOperation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly { readonly in: string; readonly name: string; readonly schema: Schema }[]
  readonly body: Schema | undefined
}

export function describedRequests(description: Description): (choices: Choices) => Plan {
  const operations = operationsOf(description)
  const values = new Values(description)
  return (choices) => {
    const { method, path, parameters, body } = choices.one(operations)
    const isDestructive = method === 'DELETE' || path.endsWith('/create') || path === '/api/v2/collection'
    const name = isDestructive ? choices.one(passing) : choices.one(names)
    const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) =>
      encodeURIComponent(parameter === 'name' ? name : partOf(choices, parameter)),
    )
    const query = parameters
      .filter((parameter) => parameter.in === 'query' && choices.chance(0.4))
      .map((parameter) => `${parameter.name}=${encodeURIComponent(String(values.of(choices, parameter.schema)))}`)
    const target = query.length === 0 ? filled : `${filled}?${query.join('&')}`
    if (body === undefined) return { method, path: target, type: undefined, body: undefined }
    const json = renamed(values.of(choices, body), isDestructive ? choices.one(passing) : undefined)
    const isPacked = choices.chance(0.3)
    return {
      method,
      path: target,
      type: isPacked ? 'application/msgpack' : 'application/json',
      body: Buffer.from(isPacked ? encode(json) : JSON.stringify(json)),
    }
  }
}

function operationsOf({ paths }: Description): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    excluded.some((pattern) => pattern.test(path))
      ? []
      : Object.entries(operations).map(([method, operation]) => ({
          method: method.toUpperCase(),
          path,
          parameters: (operation as { parameters?: DescribedOperation['parameters'] }).parameters ?? [],
          body: operation.requestBody?.content['application/json']?.schema,
        })),
  )
}

function partOf(choices: Choices, parameter: string): string {
  if (parameter === 'id') return idOf(choices)
  if (parameter === 'field') return choices.one(['dense', 'plot', 'words', 'absent'])
  return choices.one(['default', 'absent', 'x'])
}

/** The collection that a body creates. */
function renamed(body: unknown, name: string | undefined): unknown {
  if (name === undefined || typeof body !== 'object' || body === null) return body
  const key = 'index_name' in body ? 'index_name' : 'name'
  return key in body ? { ...body, [key]: name } : body
}

const depthMax = 6

/**
 * What a search with a recall does follows from measurements in the background, which two servers make at other times. A read that waits for
 * the next record, or is as of it, sees it on the server where a background task appends one meanwhile. An object that expires soon is there on the
 * server that answers first.
 */
const chosenByTime: ReadonlySet<string> = new Set(['recall', 'min_lsn', 'as_of', 'ttl_seconds', 'expires_at'])
/** LSNs whose replies do not depend on where the log ends. */
const decidedLsns = [0, 1, 1.5]
const lsnKeys: ReadonlySet<string> = new Set(['lsn', 'if_lsn'])

class Values {
  readonly #description: Description

  constructor(description: Description) {
    this.#description = description
  }

  /** A value of the schema or, with a small probability at each place, another one. */
  of(choices: Choices, schema: Schema, depth = 0): unknown {
    if (choices.chance(0.03)) return choices.one([null, 0, -1, '', 'x', [], {}, true, 1e300, [[]]])
    const { $ref, anyOf, oneOf, allOf, const: constant, enum: listed } = schema as SchemaParts
    if ($ref !== undefined) return this.#referred(choices, $ref, depth)
    if (constant !== undefined) return constant
    if (listed !== undefined) return choices.one(listed)
    const alternatives = anyOf ?? oneOf
    if (alternatives !== undefined) return this.of(choices, choices.one(alternatives), depth + 1)
    if (allOf !== undefined) return Object.assign({}, ...allOf.map((part) => this.of(choices, part, depth + 1)))
    return this.#plain(choices, schema, depth)
  }

  #referred(choices: Choices, ref: string, depth: number): unknown {
    const name = ref.split('/').at(-1) ?? ''
    if (name === 'VectorValue' && choices.chance(0.8)) return vectorOf(choices)
    if (name === 'Filter' && choices.chance(0.8)) return [{ n: { $eq: choices.below(130) } }]
    if (depth > depthMax) return {}
    return this.of(choices, this.#description.components.schemas[name] ?? {}, depth + 1)
  }

  #member(choices: Choices, key: string, schema: Schema, depth: number): unknown {
    if (key === 'id') return idOf(choices)
    if (lsnKeys.has(key)) return choices.one(decidedLsns)
    return this.of(choices, schema, depth + 1)
  }

  #plain(choices: Choices, schema: Schema, depth: number): unknown {
    const { type, properties, required, items, minimum, maximum } = schema as SchemaParts
    switch (Array.isArray(type) ? choices.one(type) : type) {
      case 'object':
        return Object.fromEntries(
          Object.entries(properties ?? {})
            .filter(([key]) => !chosenByTime.has(key))
            .filter(
              ([key]) => depth <= depthMax && (required?.includes(key) ? choices.chance(0.98) : choices.chance(0.3)),
            )
            .map(([key, property]) => [key, this.#member(choices, key, property, depth)]),
        )
      case 'array':
        return Array.from({ length: choices.below(4) }, () => this.of(choices, items ?? {}, depth + 1))
      case 'integer':
        return (minimum ?? 0) + choices.below(Math.min(20, (maximum ?? 20) - (minimum ?? 0) + 1))
      case 'number':
        return choices.next() * (maximum ?? 2)
      case 'boolean':
        return choices.chance(0.5)
      case 'null':
        return null
      default:
        return choices.one(['a', 'dense', 'plot', 'docs', 'default', 'cosine', 'int8'])
    }
  }
}

interface SchemaParts {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
}
