// A search that is being edited, and the request it produces. Kept per collection while the dashboard is open.
import { type Collection, type Field, hasGraph, isText } from '../../api/collections.ts'
import { meaningQuery, type Query, type SearchBody, type TextClauses } from '../../api/search.ts'
import { type FilterDraft, filterOf, noFilter } from '../filter/filter-draft.ts'

export interface FieldDraft {
  readonly on: boolean
  /** A text field is searched by words or clauses, others by a vector, or by words of which a provider makes one. */
  readonly by: 'object' | 'vector' | 'words' | 'clauses'
  readonly id: string
  /** The vector, or the words. */
  readonly text: string
  readonly operator: 'or' | 'and'
  /** As JSON. */
  readonly clauses: string
  readonly weight: number | undefined
}

/** The settings in which the two sides of a comparison may differ. */
export interface Settings {
  readonly ef: number | undefined
  readonly exact: boolean
  /** By default the server rescores fields of binary, int2, and int4. */
  readonly rescore: 'default' | 'on' | 'off'
  readonly threshold: number | undefined
  readonly boost: number | undefined
  readonly method: 'rrf' | 'relative_score'
}

export interface SearchDraft {
  readonly fields: { readonly [name: string]: FieldDraft }
  readonly limit: number | undefined
  readonly filter: FilterDraft
  readonly settings: Settings
  /** The other side; undefined when nothing is compared. */
  readonly other: Settings | undefined
}

export const settingsDefault: Settings = {
  ef: undefined,
  exact: false,
  rescore: 'default',
  threshold: undefined,
  boost: undefined,
  method: 'rrf',
}

const limitDefault = 10
const drafts = new Map<string, SearchDraft>()

export function draftOf(collection: Collection): SearchDraft {
  const kept = drafts.get(collection.name)
  const known = kept !== undefined && collection.fields.every(({ name }) => Object.hasOwn(kept.fields, name))
  return known ? kept : freshDraft(collection)
}

export function keepDraft(collection: string, draft: SearchDraft): void {
  drafts.set(collection, draft)
}

export function freshDraft({ fields }: Collection): SearchDraft {
  const drafted = fields.map((field, i): [string, FieldDraft] => [
    field.name,
    {
      on: i === 0,
      by: isText(field) ? 'words' : 'object',
      id: '',
      text: '',
      operator: 'or',
      clauses: '',
      weight: undefined,
    },
  ])
  return {
    fields: Object.fromEntries(drafted),
    limit: limitDefault,
    filter: noFilter,
    settings: settingsDefault,
    other: undefined,
  }
}

/** A draft that searches near a stored object. */
export function nearObject(collection: Collection, id: string): SearchDraft {
  const fresh = freshDraft(collection)
  const fields = Object.fromEntries(
    Object.entries(fresh.fields).map(([name, field]) => [name, { ...field, by: 'object', id } as const]),
  )
  return { ...fresh, fields }
}

type FieldSetting = Omit<SearchBody['fields'][string], 'query' | 'limit'>

/** A search without its queries and limits. */
export interface SearchSetting extends Omit<SearchBody, 'fields' | 'fusion'> {
  readonly fields: { readonly [field: string]: FieldSetting }
  readonly fusion?: Omit<NonNullable<SearchBody['fusion']>, 'limit'>
}

/** Throws a readable error while the filter is incomplete, or if no field is searched. */
export function settingOf(draft: SearchDraft, settings: Settings, fields: readonly Field[]): SearchSetting {
  const used = usedFields(draft, fields)
  if (used.length === 0) throw new Error('select at least one field')
  const filter = filterOf(draft.filter)
  const params = {
    ...(settings.threshold === undefined ? {} : { prefilter_threshold: settings.threshold }),
    ...(settings.boost === undefined ? {} : { boost_percentage: settings.boost }),
  }
  return {
    fields: Object.fromEntries(used.map((field) => [field.name, fieldSetting(field, draft, settings)])),
    ...(filter.length > 0 && { filter }),
    ...(Object.keys(params).length > 0 && { filter_params: params }),
    ...(settings.exact && { exact: true }),
    ...(settings.rescore !== 'default' && { rescore: settings.rescore === 'on' }),
    ...(used.length > 1 && { fusion: { method: settings.method, weights: weightsOf(used, draft) } }),
  }
}

/** Throws a readable error while the draft is incomplete. */
export function bodyOf(draft: SearchDraft, settings: Settings, fields: readonly Field[]): SearchBody {
  const limit = draft.limit ?? limitDefault
  const { fields: fieldSettings, fusion, ...rest } = settingOf(draft, settings, fields)
  return {
    fields: Object.fromEntries(
      usedFields(draft, fields).map((field) => [
        field.name,
        {
          query: queryOf(field, draft.fields[field.name]!),
          limit,
          ...fieldSettings[field.name],
          ...(isText(field) && { highlight: true }),
        },
      ]),
    ),
    ...rest,
    ...(fusion && { fusion: { ...fusion, limit } }),
  }
}

function usedFields(draft: SearchDraft, fields: readonly Field[]): readonly Field[] {
  return fields.filter(({ name }) => draft.fields[name]?.on)
}

function fieldSetting(field: Field, draft: SearchDraft, { ef }: Settings): FieldSetting {
  if (isText(field)) return operatorOf(draft.fields[field.name]!)
  return ef === undefined || !hasGraph(field) ? {} : { ef_search: ef }
}

function weightsOf(used: readonly Field[], draft: SearchDraft) {
  return Object.fromEntries(used.map(({ name }) => [name, draft.fields[name]?.weight ?? 1]))
}

/** The default of the server is left out. */
function operatorOf({ by, operator }: FieldDraft): { readonly operator?: 'and' } {
  return by === 'words' && operator === 'and' ? { operator } : {}
}

function queryOf(field: Field, { by, id, text, clauses }: FieldDraft): Query {
  if (by === 'object') {
    if (id === '') throw new Error(`${field.name}: enter the id of a stored object`)
    return { id }
  }
  if (by === 'clauses') return clausesQuery(field.name, clauses)
  if (isText(field)) return wordsQuery(field.name, text)
  if (by === 'words') return meaningQuery(wordsQuery(field.name, text))
  if (field.type === 'multi_vector') return manyQuery(field.name, text)
  return hasGraph(field) ? denseQuery(field.name, text) : sparseQuery(field.name, text)
}

function wordsQuery(name: string, text: string): string {
  if (text.trim() !== '') return text
  throw new Error(`${name}: enter the words to search`)
}

/** The server checks the clauses and names what is wrong. */
function clausesQuery(name: string, text: string): TextClauses {
  try {
    const clauses: unknown = JSON.parse(text)
    if (typeof clauses === 'object' && clauses !== null && !Array.isArray(clauses)) return clauses
  } catch {
    // Reported below, like all other text that is not an object.
  }
  throw new Error(`${name}: enter the clauses as JSON, such as ${clausesExample}`)
}

export const clausesExample = '{"must": ["red"], "should": [{"phrase": "red fox"}], "must_not": ["dog"]}'

function manyQuery(name: string, text: string): readonly (readonly number[])[] {
  try {
    const vectors: unknown = JSON.parse(text)
    if (Array.isArray(vectors) && vectors.length > 0 && vectors.every(Array.isArray)) return vectors as number[][]
  } catch {
    // Reported below, like all other text that is not a list of vectors.
  }
  throw new Error(`${name}: enter the vectors as JSON, such as [[0.1, 0.2], [0.3, 0.4]]`)
}

/** A JSON array, or numbers with any separator. */
function denseQuery(name: string, text: string): readonly number[] {
  const numbers = text
    .split(/[\s,;[\]]+/)
    .filter((part) => part !== '')
    .map(Number)
  if (numbers.length > 0 && numbers.every(Number.isFinite)) return numbers
  throw new Error(`${name}: enter the vector as numbers, such as 0.1, 0.2, 0.3`)
}

/** `{"indices":[...],"values":[...]}`, or `12:0.5 40:1.2`. */
function sparseQuery(name: string, text: string): Query {
  if (text.trim().startsWith('{')) return JSON.parse(text) as Query
  const pairs = text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map((part) => part.split(':').map(Number))
  if (pairs.length > 0 && pairs.every((pair) => pair.length === 2 && pair.every(Number.isFinite)))
    return { indices: pairs.map(([index]) => index!), values: pairs.map(([, value]) => value!) }
  throw new Error(`${name}: enter the sparse vector as index:weight, such as 12:0.5 40:1.2`)
}
