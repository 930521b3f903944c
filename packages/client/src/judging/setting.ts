// A setting of a search: a search as JSON, in the words of the HTTP API, whose queries come from a file.
import type { FieldDescription } from '../collection-definition.ts'
import type { BatchedRequest } from '../model.ts'
import type { BatchedResult } from '../search.ts'
import type { GivenQuery } from './judged-queries.ts'
import { JudgingError } from './judging-error.ts'

/** The type of a field; `embedded` if a provider makes its vectors of texts, so that its queries may be texts, too. */
export type FieldKind = FieldDescription['type'] | 'embedded'

/** Kinds of the fields of a collection, by name. */
export type FieldKinds = ReadonlyMap<string, FieldKind>

/** The kinds of the fields of a described collection. A dense field with `embed` is `embedded`: its queries may be texts. */
export function fieldKinds(fields: readonly FieldDescription[]): FieldKinds {
  return new Map(fields.map((field) => [field.name, kindOf(field)]))
}

function kindOf(field: FieldDescription): FieldKind {
  return field.type === 'vector' && field.params.embed !== undefined ? 'embedded' : field.type
}

/** A checked setting. */
export interface Setting {
  /** Its JSON. */
  readonly text: string
  /** The search for a query of the file. Throws JudgingError if the query has no value for a field. */
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

/** Parses a setting. `option` names it in errors. Throws JudgingError. */
export function parseSetting(option: string, text: string, kinds: FieldKinds, k: number): Setting {
  const search = members(withoutParameters(parsed(text, option), option), option, searchKeys)
  const fields = Object.entries(objectOf(search.fields, `${option}: fields`)).map(
    ([name, query]) => [name, members(query, `${option}: fields.${name}`, fieldKeys)] as const,
  )
  for (const [name] of fields) {
    if (kinds.has(name)) continue
    throw wrong(`${option}: the collection has no field ${name}; it has ${[...kinds.keys()].join(', ')}`)
  }
  if (fields.length === 0) throw wrong(`${option} names no field`)
  const fusion = search.fusion === undefined ? undefined : objectOf(search.fusion, `${option}: fusion`)
  if (fields.length > 1 && fusion === undefined)
    throw wrong(`${option} searches ${fields.length} fields; add a fusion, so that there is one list to judge`)
  const depth = fusion === undefined ? k : Math.max(fusedDepth, k)
  const rest = { ...search, ...(fusion && { fusion: { limit: k, ...fusion } }) }
  return {
    text: text.trim(),
    requestOf(query) {
      const queries = fields.map(([name, own]) => [
        name,
        { limit: depth, ...own, query: own.query ?? valueFor(query, name, kinds) },
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

function valueFor(query: GivenQuery, name: string, kinds: FieldKinds): unknown {
  const kind = kinds.get(name)
  const own = Object.hasOwn(query.fields, name) ? query.fields[name] : undefined
  const value = own ?? commonValue(query, kind)
  if (value !== undefined) return value
  const wanted = kind === 'text' ? 'text' : kind === 'embedded' ? 'vector, no text' : 'vector'
  throw new JudgingError('file', `query ${query.id} has no ${wanted}, and no fields.${name}, for field ${name}`)
}

/** What a query of the file has for all fields of a kind. */
function commonValue({ text, vector }: GivenQuery, kind: FieldKind | undefined): unknown {
  if (kind === 'text') return text
  if (vector !== undefined || kind !== 'embedded') return vector
  return text === undefined ? undefined : { text }
}

function parsed(text: string, option: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw wrong(`${option} must be a search as JSON, such as '{"fields":{"body":{}}}'`)
  }
}

/** Published clients write the tuning of filters as `filter_params`. */
function withoutParameters(value: unknown, option: string): object {
  const { filter_params: given, ...rest } = objectOf(value, option)
  if (given === undefined) return rest
  const parameters = Object.entries(objectOf(given, `${option}: filter_params`)).map(([key, parameter]) => {
    const name = Object.hasOwn(parameterNames, key) ? parameterNames[key] : undefined
    if (name !== undefined) return [name, parameter] as const
    throw wrong(`${option}: filter_params has ${JSON.stringify(key)}, which a setting cannot have`)
  })
  return { ...Object.fromEntries(parameters), ...rest }
}

const parameterNames: { readonly [name: string]: string } = {
  prefilter_threshold: 'prefilterCardinalityThreshold',
  boost_percentage: 'filterBoostPercentage',
}

function objectOf(value: unknown, what: string): { readonly [key: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as { readonly [key: string]: unknown }
  throw wrong(`${what} must be an object`)
}

/** The members of an object with the names of the client. */
function members(value: unknown, what: string, known: readonly string[]): { readonly [key: string]: unknown } {
  const named = Object.entries(objectOf(value, what)).map(([key, member]) => {
    const name = Object.hasOwn(clientNames, key) ? (clientNames[key] as string) : key
    if (known.includes(name)) return [name, member] as const
    throw wrong(`${what} has ${JSON.stringify(key)}, which a setting cannot have`)
  })
  return Object.fromEntries(named)
}

function wrong(message: string): JudgingError {
  return new JudgingError('setting', message)
}
