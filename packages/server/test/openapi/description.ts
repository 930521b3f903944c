// openapi.json as a server sends it, and which operation of it a request is.
import { createApp, EngineSlot, readConfig } from '../../src/index.ts'

export interface Schema {
  readonly [keyword: string]: unknown
}

export interface Media {
  readonly schema: Schema
}

export interface Reply {
  readonly description: string
  readonly content?: { readonly [type: string]: Media }
}

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly schema: Schema
}

export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly [type: string]: Media } }
  readonly responses: { readonly [status: string]: Reply | { readonly $ref: string } }
}

export interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: Schema }
    readonly responses: { readonly [name: string]: Reply }
  }
}

/** Of a server without an engine: its routes are the same. */
export async function readDescription(): Promise<Description> {
  const app = createApp({ slot: new EngineSlot(), config: { ...readConfig({}).config, logLevel: 'silent' } })
  const reply = await app.inject('/api/v2/openapi.json')
  await app.close()
  return reply.json()
}

/** The operation with the fewest parameters in its path that the request matches. */
export function findOperation({ paths }: Description, method: string, target: string): Operation | undefined {
  const [path = ''] = target.split('?', 1)
  const matching = Object.entries(paths).filter(
    ([template, operations]) => operations[method.toLowerCase()] !== undefined && patternOf(template).test(path),
  )
  const [best] = matching.sort(([a], [b]) => a.split('{').length - b.split('{').length)
  return best?.[1][method.toLowerCase()]
}

/** An id may have slashes. */
function patternOf(template: string): RegExp {
  const pattern = template
    .split(/(\{\w+\})/)
    .map((part) => (part === '{id}' ? '.+' : part.startsWith('{') ? '[^/]+' : part.replaceAll('.', '\\.')))
  return new RegExp(`^${pattern.join('')}$`)
}
