// `annal search`: the nearest objects, by a vector, a stored object, or words.
import { readFileSync } from 'node:fs'
import type {
  Client,
  FieldDescription,
  FusedHit,
  HitGroup,
  SearchHit,
  SearchRequest,
  SearchResult,
} from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { filterOf } from '../filter-option.ts'
import { jsonText } from '../formats/json-text.ts'
import type { GivenQuery } from '../query-options.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { cut, visible } from '../visible-text.ts'
import { valueText } from './get.ts'

export interface SearchOptions extends ConnectionOptions {
  readonly queries: readonly GivenQuery[]
  readonly request?: string
  readonly limit?: number
  readonly filter?: string
  readonly ef?: number
  readonly recall?: number
  readonly exact?: boolean
  readonly rescore?: boolean
  readonly vectors?: boolean
  readonly texts?: boolean
  readonly groupBy?: string
  readonly groupHits?: number
  readonly columns?: string
  readonly json?: boolean
}

export function search(collection: string, options: SearchOptions, terminal: Terminal): Promise<number> {
  const given = options.request === undefined ? undefined : requestIn(options.request)
  if (given !== undefined && options.queries.length > 0) throw usageError('use either --request or options of a query')
  if (given === undefined && options.queries.length === 0) {
    throw usageError('a search needs a query: --vector, --id, --text, or --request')
  }
  return withClient(options, async (client) => {
    const request = given ?? (await requestOf(client, collection, options))
    const result = await client.collection(collection).search(request)
    if (options.json) terminal.line(jsonText(resultJson(result)))
    else {
      const lines = [...resultLines(result, { request, keys: options.columns?.split(','), width: terminal.columns })]
      for (const line of lines) terminal.line(line)
      if (lines.length === 0) terminal.say('nothing found')
    }
    return exitCode.good
  })
}

/** A whole request, as JSON or in a file. The server checks it. */
function requestIn(text: string): SearchRequest {
  const json = text.trimStart().startsWith('{') ? text : readFileSync(text === '-' ? 0 : text, 'utf8')
  try {
    const value: unknown = JSON.parse(json)
    if (value !== null && typeof value === 'object' && 'fields' in value) return value as SearchRequest
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw usageError(`--request is not JSON: ${error.message}`)
  }
  throw usageError('--request must be an object such as {"fields":{"plot":{"query":[0.1,0.9]}}}')
}

async function requestOf(client: Client, collection: string, options: SearchOptions): Promise<SearchRequest> {
  const { queries, limit, filter, ef, recall, exact, rescore, vectors, texts, groupBy, groupHits } = options
  if (groupHits !== undefined && groupBy === undefined) throw usageError('--group-hits needs --group-by KEY')
  const parameters = {
    ...(limit !== undefined && { limit }),
    ...(ef !== undefined && { ef }),
    ...(recall !== undefined && { recall }),
  }
  const fields: { [field: string]: SearchRequest['fields'][string] } = {}
  for (const { field, query } of await named(client, collection, queries)) {
    if (Object.hasOwn(fields, field)) throw usageError(`--field ${field} is named twice`)
    fields[field] = { query, ...parameters }
  }
  const several = Object.keys(fields).length > 1
  return {
    fields,
    ...(filter !== undefined && { filter: filterOf(filter) }),
    ...(exact && { exact }),
    ...(rescore !== undefined && { rescore }),
    ...(vectors && { includeVectors: true }),
    ...(texts && { includeTexts: true }),
    ...(several && { fusion: { method: 'rrf', ...(limit !== undefined && { limit }) } }),
    ...(groupBy !== undefined && { groupBy: { key: groupBy, ...(groupHits !== undefined && { hits: groupHits }) } }),
  }
}

interface NamedQuery {
  readonly field: string
  readonly query: GivenQuery['query']
}

/** Finds the field of a query without one. A text for a field whose vectors are made of texts is its `{ text }`. */
async function named(
  client: Client,
  collection: string,
  queries: readonly GivenQuery[],
): Promise<readonly NamedQuery[]> {
  // Most searches need no description.
  if (queries.every(({ field, query }) => field !== undefined && typeof query !== 'string')) {
    return queries as readonly NamedQuery[]
  }
  const { fields } = await client.collection(collection).describe()
  return queries.map(({ field, query }) => {
    const found = field ?? onlyFieldFor(query, fields)
    const isText = fields.some(({ name, type }) => name === found && type === 'text')
    return { field: found, query: typeof query === 'string' && !isText ? { text: query } : query }
  })
}

function onlyFieldFor(query: GivenQuery['query'], fields: readonly FieldDescription[]): string {
  const fitting = fields.filter((field) => fits(query, field))
  const [only, other] = fitting
  if (only !== undefined && other === undefined) return only.name
  const names = (fitting.length > 0 ? fitting : fields).map(({ name }) => name).join(', ')
  throw usageError(`choose the field with --field (${names})`)
}

function fits(query: GivenQuery['query'], field: FieldDescription): boolean {
  if (typeof query === 'string')
    return field.type === 'text' || (field.type === 'vector' && field.params.embed !== undefined)
  if ('id' in query) return true
  if ('indices' in query) return field.type === 'sparse'
  return field.type === 'vector' || field.type === 'multi_vector'
}

/** Everything that the client returns; meta that is not JSON has its bytes in base64, as in exports. */
function resultJson(result: SearchResult): unknown {
  const { results, fused, groups, fusedGroups, ...rest } = result
  return {
    results: mapped(results, (hits) => hits.map(hitJson)),
    ...(fused && { fused: fused.map(fusedJson) }),
    ...(groups && {
      groups: mapped(groups, (of) => of.map(({ value, hits }) => ({ value, hits: hits.map(hitJson) }))),
    }),
    ...(fusedGroups && { fusedGroups: fusedGroups.map(({ value, hits }) => ({ value, hits: hits.map(fusedJson) })) }),
    ...rest,
  }
}

function hitJson({ metaBytes, expiresAt, vectors: _earlier, ...hit }: SearchHit): unknown {
  return {
    ...hit,
    ...(metaBytes !== undefined && { meta_base64: Buffer.from(metaBytes).toString('base64') }),
    ...(expiresAt !== undefined && { expires_at: new Date(expiresAt).toISOString() }),
  }
}

function fusedJson({ hit, score, standings }: FusedHit): unknown {
  return { hit: hitJson(hit), score, standings }
}

interface Showing {
  readonly request: SearchRequest
  /** Keys of meta or filter values; undefined: all. */
  readonly keys: readonly string[] | undefined
  /** Cells of the terminal. */
  readonly width: number | undefined
}

function* resultLines(result: SearchResult, showing: Showing): Generator<string> {
  const { results, fused, groups, fusedGroups } = result
  if (fusedGroups) yield* groupLines(fusedGroups, (hits) => fusedTable(hits, showing), showing)
  else if (fused) yield* tableLines(fusedTable(fused, showing), showing)
  else {
    const fields = Object.keys(results)
    for (const field of fields) {
      if (fields.length > 1) yield `${visible(field)}:`
      const tableOf = (hits: readonly SearchHit[]) => hitTable(hits, field, showing)
      if (groups) yield* groupLines(groups[field] ?? [], tableOf, showing)
      else yield* tableLines(tableOf(results[field] ?? []), showing)
    }
  }
  if (!result.complete) yield 'not complete: a field has fewer hits than requested, and more objects may exist'
}

type Table = readonly (readonly string[])[]

function* groupLines<Hit>(
  groups: readonly HitGroup<Hit>[],
  tableOf: (hits: readonly Hit[]) => Table,
  showing: Showing,
): Generator<string> {
  for (const { value, hits } of groups) {
    yield `${visible(valueText(value))}:`
    yield* tableLines(tableOf(hits), showing)
  }
}

function* tableLines(table: Table, { width }: Showing): Generator<string> {
  // The head alone says nothing.
  if (table.length === 1) return
  const [head = []] = table
  const numbers = head.flatMap((name, i) => (i === 0 || numberColumns.includes(name) ? [i] : []))
  yield* aligned(table, { numbers, width })
}

const numberColumns = ['similarity', 'distance', 'score']

function hitTable(hits: readonly SearchHit[], field: string, { request, keys }: Showing): Table {
  const query = request.fields[field]?.query
  // The distance of terms is only their score with a minus.
  const ofTerms = typeof query === 'string' || (typeof query === 'object' && query !== null && 'indices' in query)
  const scores = ofTerms ? (['similarity'] as const) : (['similarity', 'distance'] as const)
  return [
    ['', 'id', ...scores, ...keysHead(keys)],
    ...hits.map((hit, i) => [
      ...[String(i + 1), shortId(hit.id), ...scores.map((score) => numberText(hit[score]))],
      ...valuesOf(hit, keys),
    ]),
  ]
}

function fusedTable(hits: readonly FusedHit[], { keys }: Showing): Table {
  return [
    ['', 'id', 'score', 'ranks', ...keysHead(keys)],
    ...hits.map(({ hit, score, standings }, i) => [
      ...[String(i + 1), shortId(hit.id), numberText(score)],
      standings.map(({ field, rank }) => `${field} ${rank}`).join(', '),
      ...valuesOf(hit, keys),
    ]),
  ]
}

const cellWidthMax = 60

/** Ids may have kilobytes. */
function shortId(id: string): string {
  return cut(visible(id), cellWidthMax)
}

function keysHead(keys: readonly string[] | undefined): readonly string[] {
  return keys ?? ['meta', 'filter']
}

/** The named keys, of meta or else of the filter values; by default all of both. */
function valuesOf({ meta, filter, metaBytes }: SearchHit, keys: readonly string[] | undefined): readonly string[] {
  const cell = (value: unknown) => (value === undefined ? '' : cut(visible(valueText(value)), cellWidthMax))
  if (keys !== undefined) {
    return keys.map((key) => cell(meta !== undefined && Object.hasOwn(meta, key) ? meta[key] : filter[key]))
  }
  const whole = (values: object | undefined) => cell(values && Object.keys(values).length > 0 ? values : undefined)
  return [metaBytes === undefined ? whole(meta) : `${metaBytes.length} bytes`, whole(filter)]
}

function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)))
}

function mapped<T, U>(from: { readonly [name: string]: T }, change: (value: T) => U): { [name: string]: U } {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}
