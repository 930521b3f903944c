// openapi.json, which @fastify/swagger makes from the routes: from the schemas that validate them, the limits in use, and what each
// route says about itself. The library, and the schemas that only describe, are loaded when the description is requested first.
import swagger from '@fastify/swagger'
import fastify from 'fastify'
import type { JsonSchema } from './build.ts'
import type { DescribedRoute } from './described-route.ts'
import { errorComponents, errorResponses } from './errors.ts'
import { operationOf, templateOf } from './operation.ts'
import { replySchemas } from './reply-schemas.ts'
import { requestSchemas } from './request-schemas.ts'

interface GeneratedDocument {
  readonly paths: { readonly [path: string]: { readonly [method: string]: GeneratedOperation } }
}

interface GeneratedOperation {
  readonly requestBody?: JsonSchema
  readonly responses: JsonSchema
}

export async function openapiDocument(routes: readonly DescribedRoute[], version: string): Promise<object> {
  const shown = routes.filter(({ method, config }) => config?.doc !== undefined && method !== 'HEAD')
  const byKey = new Map(shown.map((route) => [keyOf(route), route]))
  // The generator reads the routes of an application. This one only lists them, so that the one that serves need not load the generator.
  const app = fastify({ exposeHeadRoutes: false })
  await app.register(swagger, {
    openapi: { ...head(version), components: components(shown) } as object,
    convertConstToEnum: false,
    transform: ({ route }) => {
      const described = byKey.get(keyOf(route))!
      return operationOf(described, described.config!.doc!)
    },
    transformObject: (found) => {
      if (!('openapiObject' in found)) throw new Error('the generator made no OpenAPI document')
      return completed(found.openapiObject as unknown as GeneratedDocument, shown) as typeof found.openapiObject
    },
  })
  for (const { method, url } of shown) app.route({ method, url, handler: () => undefined })
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

function keyOf({ method, url }: Pick<DescribedRoute, 'method' | 'url'>): string {
  return `${String(method)} ${url}`
}

function head(version: string): JsonSchema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Annal',
      version,
      description: 'A vector database. Errors are explained in docs/reference/errors.md.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    // A server without tokens accepts every request.
    security: [{ token: [] }, {}],
    tags: [
      { name: 'v2', description: 'Collections with named fields.' },
      { name: 'v1', description: 'Indexes, as the published endee clients use them.' },
      { name: 'operations', description: 'The dashboard and metrics.' },
    ],
  }
}

function components(routes: readonly DescribedRoute[]): JsonSchema {
  const errors = errorComponents(routes)
  return {
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer', description: 'The token, also accepted without the word Bearer.' },
    },
    schemas: { ...requestSchemas, ...replySchemas, ...errors.schemas },
    responses: errors.responses,
  }
}

/** Adds what the generator has no place for: references to the error replies, and bodies that may be left out. */
function completed(document: GeneratedDocument, routes: readonly DescribedRoute[]): GeneratedDocument {
  const described = new Map(
    routes.map((route) => [`${templateOf(route.url)} ${String(route.method).toLowerCase()}`, route]),
  )
  const operation = (path: string, method: string, generated: GeneratedOperation): GeneratedOperation => {
    const route = described.get(`${path} ${method}`)!
    const { requestBody, responses } = generated
    const isOptional = route.config?.bodyOptional === true
    return {
      ...generated,
      ...(requestBody !== undefined && { requestBody: { ...requestBody, required: !isOptional } }),
      responses: { ...errorResponses(route), ...responses },
    }
  }
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const entries = Object.entries(operations)
    return [path, Object.fromEntries(entries.map(([method, found]) => [method, operation(path, method, found)]))]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}
