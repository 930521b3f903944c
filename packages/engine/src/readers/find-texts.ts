// Finds the hits of words in one text field in shared memory. Clauses that are more than words are left to the owner, which has texts in a form that
// is quick to read. Loaded when it is first needed.
import { EngineError } from '../errors.ts'
import { termsMove } from '../memory/term-names.ts'
import type { ReaderSearch } from '../model/reader.ts'
import type { TextFieldSchema } from '../model/schema.ts'
import { plainTerms } from '../search/plain-terms.ts'
import type { Best } from '../search/ranking.ts'
import { parseTextOptions, parseTextSearch, type TextOptions, type TextSearch } from '../search/text-query.ts'
import { loadAnalyzers } from '../text/analyzers.ts'
import { noHits, type TextQueryTerm } from '../vector/field.ts'
import { isInRange, type SearchedState, type Work } from './find-hits.ts'
import type { HitBuffer } from './hit-buffer.ts'
import { type ListsReader, listsOf } from './reader-lists.ts'

/** A checked search of a text field. */
interface WordsSearch {
  /** Position of the field in the definition. */
  readonly fieldIndex: number
  readonly query: TextSearch
  readonly options: TextOptions
  readonly k: number
}

/** Takes the work of one search. */
const one: Work = { left: 1 }

/** Must have resolved before the first search. */
export const prepareTexts = loadAnalyzers

/**
 * Puts the hits into the buffer. 'owner': only the owner can run the search, or refuse it. 'again': the owner changed what was read.
 */
export function findTexts(
  state: SearchedState & { readonly topKMax: number },
  search: ReaderSearch,
  reader: ListsReader,
  hits: HitBuffer,
): 'found' | 'again' | 'owner' {
  const { view, version } = state
  const { fields } = view.facts.definition
  const fieldIndex = fields.findIndex(({ name }) => name === search.field)
  const field = fields[fieldIndex]
  if (field?.kind !== 'text' || !isInRange(search, state.topKMax)) return 'owner'
  const parsed = parse(search, field)
  if (parsed === undefined) return 'owner'
  one.left = 1
  const found = findWords(state, { ...parsed, fieldIndex, k: search.limit }, reader, one)
  if (found === 'again' || found === 'owner') return found
  const { scoreThreshold = Number.NEGATIVE_INFINITY } = search
  const dense = fields.findIndex(({ kind }) => kind === 'dense')
  hits.begin({ lsn: view.words.pinnedLsn, isCosine: false })
  for (let i = 0; i < found.ordinals.length; i++) {
    const [ordinal, similarity] = [found.ordinals[i] as number, found.similarities[i] as number]
    if (similarity < scoreThreshold) continue
    const hasRow = dense >= 0 && view.hasRow(dense, ordinal, version)
    hits.add(ordinal, similarity, hasRow ? view.norm(dense, ordinal) : 1)
  }
  return 'found'
}

/** Undefined: the owner refuses it. */
function parse(
  { query, operator, k1, b }: ReaderSearch,
  field: TextFieldSchema,
): Pick<WordsSearch, 'query' | 'options'> | undefined {
  const given = { query, ...(operator && { operator }), ...(k1 !== undefined && { k1 }), ...(b !== undefined && { b }) }
  try {
    return { query: parseTextSearch(given, field, 'query'), options: parseTextOptions(given, field, 'query') }
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}

/** The best rows for a query that is only words. See runText of the owner. */
export function findWords(
  { view, version, matches }: SearchedState,
  { fieldIndex, query, options, k }: WordsSearch,
  reader: ListsReader,
  work: Work,
): Best | 'again' | 'owner' {
  const wanted = options.highlight ? undefined : plainTerms(query)
  if (wanted === undefined) return 'owner'
  if (matches?.count === 0) return noHits
  const lists = listsOf(view, fieldIndex, reader)
  // No object has had a text in the field.
  if (lists === undefined) return noHits
  const terms: TextQueryTerm[] = []
  for (const [term, { boost, isRequired }] of wanted) {
    const index = view.findTerm(fieldIndex, term, () => reader.settle())
    if (index === termsMove) return 'again'
    if (index >= 0) terms.push({ index, boost, isRequired })
    else if (isRequired) return noHits
  }
  if (terms.length === 0) return noHits
  return lists.search({ query: { terms, k1: options.k1, b: options.b }, k, version, rows: undefined, matches }, work)
}
