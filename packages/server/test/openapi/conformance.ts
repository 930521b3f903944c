// Compares replies with the description: the status, the media type, and every key of the body.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { Answer } from '../running-app.ts'
import { type Description, findOperation, type Reply, readDescription, type Schema } from './description.ts'

export interface Conformance {
  /** How the reply differs from its description; undefined if it does not, or if the path is of no operation. */
  fault(method: string, path: string, answer: Answer): string | undefined
  /** Names of the operations whose JSON replies were compared. */
  readonly compared: ReadonlySet<string>
}

export async function createConformance(): Promise<Conformance> {
  const description = await readDescription()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'description', ...(closed(description) as object) })
  const validators = new Map<string, ValidateFunction>()
  const compared = new Set<string>()

  const validatorOf = (schema: Schema): ValidateFunction => {
    const key = JSON.stringify(schema)
    const known = validators.get(key) ?? ajv.compile(closed(inDescription(schema)) as object)
    validators.set(key, known)
    return known
  }
  return {
    compared,
    fault(method, path, { status, headers, text }) {
      const operation = findOperation(description, method, path)
      if (operation === undefined) return undefined
      const found = operation.responses[status]
      if (found === undefined) return `${operation.operationId} does not describe the status ${status}`
      const { content = {} } = resolved(description, found)
      const type = headers.get('content-type')?.split(';')[0] ?? ''
      if (text === '') return undefined
      const media = content[type]
      if (media === undefined) return `${operation.operationId} does not describe ${type} with status ${status}`
      if (type !== 'application/json') return undefined
      compared.add(operation.operationId)
      const { warnings: _warnings, ...body } = JSON.parse(text) as { readonly warnings?: unknown }
      const validate = validatorOf(media.schema)
      if (validate(body)) return undefined
      const [error] = validate.errors ?? []
      return `${operation.operationId} ${status}: ${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${text.slice(0, 300)}`
    },
  }
}

function resolved({ components }: Description, reply: Reply | { readonly $ref: string }): Reply {
  return '$ref' in reply ? components.responses[reply.$ref.split('/').at(-1) ?? '']! : reply
}

/** With no members but those described, so that a member without a description is a fault. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]))
  const isOpen = 'properties' in copy && 'type' in copy && copy.additionalProperties === undefined
  return isOpen ? { ...copy, additionalProperties: false } : copy
}

function inDescription(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inDescription)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, part]) => [key, key === '$ref' ? `description${part}` : inDescription(part)]),
  )
}
