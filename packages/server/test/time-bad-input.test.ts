// Wrong values for every parameter that reads the past, follows changes, or sets conditions: a 4xx with a documented code, the field, the value,
// and the limit; nothing changes, and the server keeps serving.
import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { type Operation, readDescription, type Schema } from './openapi/description.ts'
import { type Answer, type RunningApp, runningApp } from './running-app.ts'
import { infinite, type Parameter, parameters, type Wrong } from './time-parameters.ts'

const accept = 'application/json'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const object = { id: 'a', fields: { v: [1, 2] }, filter: { n: 1, t: 'text' } }
const search = { fields: { v: { query: [1, 2] } } }

/** A right request of each operation, without its optional parameters. */
const requests: Readonly<Record<string, { readonly body?: object; readonly query?: object; readonly path?: object }>> =
  {
    'POST /api/v2/collection/{name}/search': { body: search },
    'POST /api/v2/collection/{name}/search/batch': { body: { searches: [search] } },
    'POST /api/v2/collection/{name}/objects/query': { body: { ids: ['a'] } },
    'POST /api/v2/collection/{name}/facets': { body: { key: 'n' } },
    'GET /api/v2/collection/{name}/history': { query: { id: 'a' } },
    'GET /api/v2/collection/{name}/diff': { query: { from: '1' } },
    'POST /api/v2/collection/{name}/undo': { body: { ids: ['a'], as_of: { lsn: 1 } } },
    'PUT /api/v2/alias/{name}': { path: { name: 'free' }, body: { collection: 'docs' } },
    'POST /api/v2/collection/{name}/branch': { body: { name: 'new' } },
    'POST /api/v2/collection/{name}/promote': { body: { over: 'other', keep_as: 'old' } },
    'POST /api/v2/collection/{name}/clone': { body: { target_collection_name: 'new' } },
    'POST /api/v2/collection/{name}/restore': { body: { target_collection_name: 'new', lsn: 3 } },
    'POST /api/v2/backup/{backup}/restore': { body: { target_collection_name: 'new' } },
    'POST /api/v2/backups/{backup}/restore': { body: { target_collection_name: 'new' } },
    'PUT /api/v2/cursors/{name}': { body: { lsn: 1 } },
    'POST /api/v2/collection/{name}/objects': { body: { objects: [object] } },
    'PATCH /api/v2/collection/{name}/objects': { body: { patches: [{ id: 'a', meta: { k: 1 } }] } },
    'POST /api/v2/collection/{name}/defaults': { body: { ttl_seconds: 5 } },
    'POST /api/v2/collection': { body: { name: 'new', fields } },
  }
const pathValues: Readonly<Record<string, string>> = { name: 'docs', id: 'a', backup: 'saved' }

async function open(t: Parameters<typeof runningApp>[0]) {
  const running = await runningApp(t)
  const { send } = running
  const ok = async (method: string, route: string, json?: object): Promise<void> => {
    const reply = await send(method, route, { ...(json && { json }), accept })
    if (reply.status >= 300) throw new Error(`${method} ${route}: ${reply.text}`)
  }
  await ok('POST', '/api/v2/collection', { name: 'docs', fields, ttl_seconds: 100_000 })
  await ok('POST', '/api/v2/collection', { name: 'other', fields })
  await ok('POST', '/api/v2/collection/docs/objects', { objects: [object, { ...object, id: 'b' }] })
  await ok('PUT', '/api/v2/alias/first', { collection: 'docs' })
  await ok('PUT', '/api/v2/cursors/reader', { lsn: 1 })
  await ok('POST', '/api/v2/collection/docs/backup', { name: 'saved' })
  const isRunning = async () => (await send('GET', '/api/v2/status/backup', { accept })).json().status === 'running'
  while (await isRunning()) await new Promise(setImmediate)
  return { ...running, state: () => stateOf(running) }
}

/** Everything that a refused request could have changed. */
async function stateOf({ send, engine }: RunningApp): Promise<object> {
  const get = async (route: string) => (await send('GET', route, { accept })).json()
  const contents = async (name: string) =>
    (await send('POST', `/api/v2/collection/${name}/objects/scroll`, { json: {}, accept })).json()
  return {
    lsn: engine.stats().lsnApplied,
    ...{ aliases: await get('/api/v2/alias'), cursors: await get('/api/v2/cursors') },
    ...{ collections: await get('/api/v2/collection'), backups: await get('/api/v2/backups') },
    contents: [await contents('docs'), await contents('other')],
  }
}

/** The request of an operation with one value. */
function requestWith({ operation, place, name }: Parameter, value: unknown) {
  const [method = '', template = ''] = operation.split(' ')
  const { body = {}, query = {}, path: own } = requests[operation] ?? {}
  const parts: Readonly<Record<string, string>> = { ...pathValues, ...own }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, part: string) =>
    place === 'path' && part === name ? encodeURIComponent(String(value)) : (parts[part] as string),
  )
  const text = new URLSearchParams({ ...query, ...(place === 'query' && { [name]: String(value) }) }).toString()
  const wanted = place === 'body' ? put(structuredClone(body), name, value) : body
  const json = JSON.stringify(wanted).replaceAll(`"${infinite}"`, '1e999')
  return {
    method,
    route: text === '' ? path : `${path}?${text}`,
    options: {
      ...(method === 'GET' || (method === 'DELETE' && Object.keys(body).length === 0)
        ? {}
        : { body: json, type: 'application/json' }),
      ...(place === 'header' && { headers: { [name]: String(value) } }),
      accept,
    },
  }
}

/** Sets `as_of.lsn` or `objects[0].if_lsn` of a body. */
function put(body: object, name: string, value: unknown): object {
  const parts = name.split(/[.[\]]+/).filter((part) => part !== '')
  const last = parts.pop() as string
  let holder = body as Record<string, unknown>
  for (const part of parts) {
    const inner = holder[part] ?? (part === 'as_of' ? { lsn: 1 } : {})
    holder[part] = inner
    holder = inner as Record<string, unknown>
  }
  // The moment of an undo has one of two keys.
  if (last === 'time') delete holder.lsn
  if (last === 'filter' && 'as_of' in holder) delete holder.ids
  holder[last] = value
  return body
}

/** What is wrong with the reply to a wrong value. */
function faultsOf(
  parameter: Parameter,
  { value, code, limit, field = parameter.name, shown = value }: Wrong,
  { status, text }: Answer,
) {
  if (status < 400 || status > 499) return [`status ${status}: ${text.slice(0, 200)}`]
  const reply = JSON.parse(text) as Record<string, unknown>
  return [
    ...(reply.code === code ? [] : [`code ${String(reply.code)} instead of ${code}`]),
    ...(documented.has(String(reply.code)) ? [] : [`code ${String(reply.code)} is not documented`]),
    ...(reply.field === field ? [] : [`field ${String(reply.field)} instead of ${field}`]),
    ...(isShown(reply.value, shown) ? [] : [`value ${JSON.stringify(reply.value)}`]),
    ...(reply.limit === limit || (limit === undefined && isLimit(reply.limit))
      ? []
      : [`limit ${JSON.stringify(reply.limit)} instead of ${limit}`]),
    ...(typeof reply.request_id === 'string' && typeof reply.error === 'string' ? [] : ['no message']),
  ].map((fault) => `${fault}: ${text.slice(0, 300)}`)
}

/** A limit is a number, a time, or the words that are allowed. */
function isLimit(limit: unknown): boolean {
  return (
    limit === undefined ||
    typeof limit === 'number' ||
    (typeof limit === 'string' && !/^-?[\d.]+, -?[\d.]+$/.test(limit))
  )
}

function isShown(shown: unknown, value: unknown): boolean {
  if (value === infinite) return shown === 'Infinity'
  // Everything in a query string is text there, and may be shown as what it is in JSON.
  if (typeof shown !== 'string' && typeof value === 'string') return JSON.stringify(shown) === value
  if (typeof value === 'string') return typeof shown === 'string' && shown.startsWith(value.slice(0, 40))
  if (typeof value === 'number' || value === null || typeof value === 'boolean') return shown === value
  return typeof shown === 'string'
}

const documented = new Set(
  [
    ...readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8').matchAll(/^\| `(\w+)` \|/gm),
  ].map(([, code]) => code),
)

test('wrong values of every parameter are refused with field, value, and limit, and change nothing', async (t) => {
  const { send, state } = await open(t)
  const before = await state()
  let sent = 0
  for (const operation of new Set(parameters.map((parameter) => parameter.operation))) {
    for (const parameter of parameters.filter((one) => one.operation === operation)) {
      t.ok(parameter.wrong.length > 1, `${operation} ${parameter.name} has ${parameter.wrong.length} wrong values`)
      for (const wrong of parameter.wrong) {
        const { method, route, options } = requestWith(parameter, wrong.value)
        const faults = faultsOf(parameter, wrong, await send(method, route, options))
        const value = JSON.stringify(wrong.value).slice(0, 60)
        if (faults.length > 0)
          t.fail(`${operation} ${parameter.place} ${parameter.name} = ${value}: ${faults.join('; ')}`)
        sent++
      }
    }
    t.strictSame(await state(), before, `${operation} changed nothing`)
  }
  t.ok(sent > 1_000, `${sent} requests`)
})

test('conditions and expiries in MessagePack are refused as those in JSON', async (t) => {
  const { send, state } = await open(t)
  const before = await state()
  let sent = 0
  for (const parameter of parameters) {
    const [, key] = /^objects\[0\]\.(\w+)$/.exec(parameter.name) ?? []
    if (key === undefined || parameter.place !== 'body') continue
    for (const wrong of parameter.wrong) {
      const text = JSON.stringify({ [key]: wrong.value }).replaceAll(`"${infinite}"`, '1e999')
      const msgpack = [[['a', new Uint8Array(0), '', { v: [1, 2] }, {}, {}, text]]]
      const reply = await send('POST', '/api/v2/collection/docs/objects', { msgpack, accept })
      const faults = faultsOf(parameter, wrong, reply)
      if (faults.length > 0) t.fail(`${parameter.name} = ${text.slice(0, 60)}: ${faults.join('; ')}`)
      sent++
    }
  }
  t.ok(sent > 40, `${sent} requests`)
  t.strictSame(await state(), before, 'nothing changed')
})

test('unknown members are refused by name', async (t) => {
  const { send, state } = await open(t)
  const before = await state()
  for (const operation of new Set(parameters.map((parameter) => parameter.operation))) {
    const { body } = requests[operation] ?? {}
    if (body === undefined || published.has(operation)) continue
    const parameter = { operation, place: 'body', name: 'unknown_member', wrong: [] } as const
    const { method, route, options } = requestWith(parameter, 1)
    t.match(
      (await send(method, route, options)).json(),
      { code: 'invalid_argument', field: 'unknown_member' },
      operation,
    )
  }
  for (const name of ['as_of.unknown_member', 'as_of.keepExpired']) {
    const parameter = {
      operation: 'POST /api/v2/collection/{name}/objects/count',
      place: 'body',
      name,
      wrong: [],
    } as const
    const { method, route, options } = requestWith({ ...parameter }, 1)
    t.match((await send(method, route, options)).json(), { code: 'invalid_argument' }, name)
  }
  t.strictSame(await state(), before)
})

/** The published protocol ignores unknown members, with a warning. */
const published = new Set([
  'POST /api/v2/collection',
  'POST /api/v2/collection/{name}/objects',
  'POST /api/v2/collection/{name}/objects/query',
  'POST /api/v2/collection/{name}/search',
  'POST /api/v2/backup/{backup}/restore',
  'POST /api/v2/backups/{backup}/restore',
])

test('every parameter of these operations is in the table, or older than they are', async (t) => {
  const description = await readDescription()
  const { schemas } = description.components
  const known = new Set(
    parameters.map(({ operation, place, name }) => `${operation} ${place} ${name.replaceAll('[0]', '[]')}`),
  )
  const found = new Set<string>()
  for (const [path, operations] of Object.entries(description.paths)) {
    if (!path.startsWith('/api/v2/') || earlierAreas.test(path)) continue
    for (const [method, operation] of Object.entries(operations)) {
      if (typeof operation !== 'object' || operation.operationId === undefined) continue
      for (const [place, name] of parametersOf(operation, schemas)) {
        const key = `${method.toUpperCase()} ${path} ${place} ${name}`
        if (known.has(key)) found.add(key)
        else t.ok(isEarlier(path, place, name), `${key} is in the table of parameters`)
      }
    }
  }
  const gone = [...known].filter((key) => !found.has(key) && !key.endsWith('header Last-Event-ID'))
  t.strictSame(gone, [], 'the table has no parameter that does not exist')
})

/** Operations without parameters that have to do with time, conditions, or names. */
const earlierAreas =
  /^\/api\/v2\/(admin|dbs|tokens|license|cluster|logs|log|schedules|health|stats|info|configuration)\b|\/(rebuild|schedule|calibrate|neighbors|links|fields|filters|upload|verify|download|backup)$/
/** Parameters of every operation, of those that are older, and of texts, which text-fields.test.ts sends. */
const earlier = new Set([
  ...['query consistency', 'query max_staleness_ms', 'query min_lsn', 'header Idempotency-Key', 'header X-Annal-Actor'],
  ...['path backup', 'path id', 'path field', 'query id', 'query field', 'query sample', 'query limit', 'query ef'],
  ...[
    'consistency',
    'max_staleness_ms',
    'min_lsn',
    'fields',
    'filter',
    'limit',
    'key',
    'ids',
    'include_vectors',
    'searches',
  ].map((name) => `body ${name}`),
  ...[
    'fusion',
    'exact',
    'rescore',
    'include',
    'prefilter_cardinality_threshold',
    'filter_boost_percentage',
    'explain',
    'filter_params',
    'name',
    'objects',
  ].map((name) => `body ${name}`),
  ...['id', 'meta', 'filter', 'fields', 'lsn'].map((name) => `body objects[].${name}`),
])

function isEarlier(path: string, place: string, name: string): boolean {
  if (place === 'path' && name === 'name') return !newPaths.test(path)
  const own = name.replace(/^searches\[\]\./, '')
  const [head = ''] = own.split(/[.[]/)
  return (
    earlier.has(`${place} ${own}`) ||
    (!own.startsWith('objects[]') &&
      ['fusion', 'filter_params', 'fields', 'group_by', 'match', 'include_texts'].includes(head))
  )
}

/** Operations that are as new as their parameters. */
const newPaths = /\/(history|diff|undo|branch|branches|promote|defaults|clone|restore)$|\/(alias|cursors)\//

function* parametersOf(
  operation: Operation,
  schemas: Readonly<Record<string, Schema>>,
): Generator<readonly [string, string]> {
  for (const parameter of operation.parameters ?? []) yield [parameter.in, parameter.name]
  const { schema } = operation.requestBody?.content['application/json'] ?? {}
  if (schema !== undefined) for (const name of membersOf(schema, schemas)) yield ['body', name]
}

/** Names of members, down to objects in lists: `objects[].if_lsn`. */
function* membersOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): Generator<string> {
  const { $ref, properties, items, anyOf } = schema as {
    readonly $ref?: string
    readonly properties?: Readonly<Record<string, Schema>>
    readonly items?: Schema
    readonly anyOf?: readonly Schema[]
  }
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) as string
    if (!values.has(name)) yield* membersOf(schemas[name] as Schema, schemas)
    return
  }
  for (const one of anyOf ?? []) yield* membersOf(one, schemas)
  if (items !== undefined) for (const name of membersOf(items, schemas)) yield `[].${name}`
  for (const [name, inner] of Object.entries(properties ?? {})) {
    yield name
    for (const member of membersOf(inner, schemas))
      yield member.startsWith('[]') ? `${name}${member}` : `${name}.${member}`
  }
}

/** Schemas of values, not of parameters. */
const values = new Set([
  'Filter',
  'FieldValue',
  'FieldQueries',
  'FieldDefinitions',
  'FilterValues',
  'Meta',
  'VectorValue',
])
