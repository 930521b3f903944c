// One route as @fastify/swagger takes it: the schema that validates it, with the parts that readers check described in full, and what the
// route says about itself.
import { actorLengthMax, requestKeyLengthMax } from '@annal/engine'
import type { TSchema } from '@sinclair/typebox'
import { readOptionsQuery } from '../../wire/read-options.ts'
import { documentation } from '../../wire/schema.ts'
import { vectorBodyType } from '../../wire/vector-body.ts'
import { actorHeader } from '../author.ts'
import { type RequestKeyRule, requestKeyHeader } from '../request-keys.ts'
import type { ReplyDoc, RouteDoc } from '../route-doc.ts'
import { type JsonSchema, ref, text } from './build.ts'
import type { DescribedRoute } from './described-route.ts'

export interface Operation {
  readonly url: string
  readonly schema: JsonSchema
}

export function operationOf(route: DescribedRoute, doc: RouteDoc): Operation {
  const url = templateOf(route.url)
  const body = bodyContent(route, doc)
  const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const querystring = queryOf(route, doc)
  const schema = {
    operationId: operationId(String(route.method), url),
    summary: doc.summary,
    tags: [tagOf(route.url)],
    ...(doc.access === 'open' && { security: [] }),
    ...(names.length > 0 && { params: pathParams(names, route.schema?.params as TSchema | undefined) }),
    ...(route.config?.requestKey !== undefined && { headers: headersOf(route.config.requestKey) }),
    ...(querystring !== undefined && { querystring: described(querystring) }),
    ...(body !== undefined && { body: { content: body } }),
    response: Object.fromEntries(
      [doc.reply.status ?? 200, doc.reply.alsoStatus ?? []].flat().map((status) => [status, reply(doc.reply)]),
    ),
  }
  return { url, schema }
}

/** Reads by GET take what POST takes in the body. */
function queryOf({ method, schema }: DescribedRoute, { access }: RouteDoc): unknown {
  const querystring = schema?.querystring as { readonly properties?: object } | undefined
  if (String(method) !== 'GET' || (access !== 'read' && access !== 'search')) return querystring
  return { type: 'object', ...querystring, properties: { ...querystring?.properties, ...readOptionsQuery } }
}

function headersOf(rule: RequestKeyRule) {
  return { type: 'object', properties: { ...(rule === 'kept' && keyHeader), ...authorHeader } }
}

const keyHeader = {
  [requestKeyHeader]: {
    type: 'string',
    minLength: 1,
    maxLength: requestKeyLengthMax,
    pattern: '^[!-~]+$',
    description: 'Unique among the writes of the database. A repetition with the same key gets the reply of the first.',
  },
}

const authorHeader = {
  [actorHeader]: {
    type: 'string',
    minLength: 1,
    maxLength: actorLengthMax,
    pattern: '^[!-~]([ -~]*[!-~])?$',
    description:
      'Name of the program or person that writes, for the history. It is stored with the write and not verified.',
  },
}

/** A wildcard stands for an id: `/index/:name/vector/*` is `/index/{name}/vector/{id}/delete`. */
export function templateOf(url: string): string {
  const wildcard = url.startsWith('/api/v1') ? '{id}/delete' : '{id}'
  return url.replaceAll(/:(\w+)/g, '{$1}').replace('*', wildcard)
}

function operationId(method: string, url: string): string {
  const words = url.split(/[^A-Za-z0-9]+/).filter((word) => word !== '' && word !== 'api')
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('')
}

function tagOf(url: string): string {
  if (url.startsWith('/api/v1')) return 'v1'
  return url.startsWith('/api/v2') ? 'v2' : 'operations'
}

function pathParams(names: readonly string[], schema: TSchema | undefined): JsonSchema {
  const known = (schema?.properties ?? {}) as { readonly [name: string]: JsonSchema }
  const descriptions: { readonly [name: string]: string } = { id: 'Id of the object.', file: 'Name of the file.' }
  const entries = names.map((name) => [name, described(known[name] ?? text(descriptions[name]))])
  return { type: 'object', properties: Object.fromEntries(entries), required: names }
}

function bodyContent(route: DescribedRoute, doc: RouteDoc): JsonSchema | undefined {
  if (doc.bodyMedia !== undefined) {
    return Object.fromEntries(doc.bodyMedia.map((type) => [type, { schema: doc.body ? described(doc.body) : text() }]))
  }
  const body = doc.body ?? route.schema?.body
  if (body === undefined) return undefined
  const schema = described(body)
  const msgpack = doc.bodyMsgpack === undefined ? schema : array(doc.bodyMsgpack)
  const bytes = doc.bodyBytes && { [vectorBodyType]: { schema: text(doc.bodyBytes) } }
  return { 'application/json': { schema }, 'application/msgpack': { schema: msgpack }, ...bytes }
}

function reply({ description, text: printed, msgpack, json, media }: ReplyDoc): JsonSchema {
  const content = {
    ...(msgpack !== undefined && { 'application/msgpack': { schema: array(msgpack) } }),
    ...(printed !== undefined && { 'text/plain': { schema: { type: 'string', examples: [printed] } } }),
    ...(json !== undefined && { 'application/json': { schema: ref(json) } }),
    ...(media !== undefined && { [media]: { schema: { type: 'string' } } }),
  }
  // To the generator, a reply of the type null has no body.
  return Object.keys(content).length === 0 ? { description, type: 'null' } : { description, content }
}

/** A tuple of MessagePack, whose form a sentence tells better than a schema. */
function array(description: string): JsonSchema {
  return { type: 'array', items: {}, description }
}

/**
 * A schema without the library's symbols and `$id`, which would move it. Where a part has documentation of its own, because a reader
 * checks it, that replaces the part.
 */
function described(schema: unknown): JsonSchema {
  return describedPart(schema) as JsonSchema
}

function describedPart(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(describedPart)
  if (typeof schema !== 'object' || schema === null) return schema
  const documented = (schema as { readonly [documentation]?: string | JsonSchema })[documentation]
  if (typeof documented === 'string') return ref(documented)
  if (documented !== undefined) return documented
  const entries = Object.entries(schema).filter(([key]) => key !== '$id')
  return Object.fromEntries(entries.map(([key, part]) => [key, describedPart(part)]))
}
