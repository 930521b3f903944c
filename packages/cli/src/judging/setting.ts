// A setting of a search: a search as JSON, in the words of the HTTP API, whose queries come from a file.
import { readFileSync } from 'node:fs'
import type { BatchedRequest, BatchedResult, CollectionDescription } from '@annal/client'
import { usageError } from '../exit-code.ts'
import { type GivenQuery, wrong } from './judged-queries.ts'

type FieldTypes = ReadonlyMap<string, CollectionDescription['fields'][number]['type']>

/** A checked setting. */
export interface Setting {
  /** Its JSON. */
  readonly text: string
  /** The search for a query of the file. Throws CommandEnd if the query has no value for a field. */
  requestOf(query: GivenQuery): BatchedRequest
  /** The ids of a result, best first: those of the documents if hits are grouped. */
  rankingOf(result: BatchedResult): readonly string[]
}

/** Hits of each field that a fusion merges, unless the setting says otherwise. */
const fusedDepth = 100

/** Names over HTTP that differ from those of the client. */
const clientNames: { readonly [name: string]: string } = {
  ef_search: 'ef',
  score_threshold: 'scoreThreshold',
  group_by: 'groupBy',
  prefilter_cardinality_threshold: 'prefilterCardinalityThreshold',
  filter_boost_percentage: 'filterBoostPercentage',
}
const searchKeys = [
  'fields',
  'filter',
  'fusion',
  'groupBy',
  'exact',
  'rescore',
  'prefilterCardinalityThreshold',
  'filterBoostPercentage',
]
const fieldKeys = ['query', 'limit', 'ef', 'recall', 'scoreThreshold', 'operator', 'k1', 'b']

/** Reads a setting from JSON, or from a file. `option` names it in errors, which are usage errors. */
export function readSetting(option: string, given: string, types: FieldTypes, k: number): Setting {
  const text = given.trimStart().startsWith('{') ? given : readFileSync(given, 'utf8')
  const search = members(parsed(text, option), option, searchKeys)
  const fields = Object.entries(objectOf(search.fields, `${option}: fields`)).map(
    ([name, query]) => [name, members(query, `${option}: fields.${name}`, fieldKeys)] as const,
  )
  for (const [name] of fields) {
    if (types.has(name)) continue
    throw usageError(`${option}: the collection has no field ${name}; it has ${[...types.keys()].join(', ')}`)
  }
  if (fields.length === 0) throw usageError(`${option} names no field`)
  const fusion = search.fusion === undefined ? undefined : objectOf(search.fusion, `${option}: fusion`)
  if (fields.length > 1 && fusion === undefined)
    throw usageError(`${option} searches ${fields.length} fields; add a fusion, so that there is one list to judge`)
  const depth = fusion === undefined ? k : Math.max(fusedDepth, k)
  const rest = { ...search, ...(fusion && { fusion: { limit: k, ...fusion } }) }
  return {
    text: text.trim(),
    requestOf(query) {
      const queries = fields.map(([name, own]) => [
        name,
        { limit: depth, ...own, query: own.query ?? valueFor(query, name, types) },
      ])
      // The server checks the values.
      return { ...rest, fields: Object.fromEntries(queries) } as BatchedRequest
    },
    rankingOf({ results, fused, groups, fusedGroups }) {
      const [only = ''] = fields.map(([name]) => name)
      const own = fusedGroups ?? (fused ? undefined : groups?.[only])
      if (own) return own.map(({ value }) => String(value))
      return (fused?.map(({ hit }) => hit) ?? results[only] ?? []).map(({ id }) => id)
    },
  }
}

function valueFor({ id, text, vector, fields }: GivenQuery, name: string, types: FieldTypes): unknown {
  const type = types.get(name)
  const value = (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? (type === 'text' ? text : vector)
  if (value !== undefined) return value
  const wanted = type === 'text' ? 'text' : 'vector'
  throw wrong(`query ${id} has no ${wanted}, and no fields.${name}, for field ${name}`)
}

function parsed(text: string, option: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${option} must be a search as JSON, such as '{"fields":{"body":{}}}', or a file with one`)
  }
}

function objectOf(value: unknown, what: string): { readonly [key: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as { readonly [key: string]: unknown }
  throw usageError(`${what} must be an object`)
}

/** The members of an object with the names of the client. */
function members(value: unknown, what: string, known: readonly string[]): { readonly [key: string]: unknown } {
  const named = Object.entries(objectOf(value, what)).map(([key, member]) => {
    const name = Object.hasOwn(clientNames, key) ? (clientNames[key] as string) : key
    if (known.includes(name)) return [name, member] as const
    throw usageError(`${what} has ${JSON.stringify(key)}, which a setting cannot have`)
  })
  return Object.fromEntries(named)
}
