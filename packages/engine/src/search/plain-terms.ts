// The terms of a text query that consists of words only, where a text must have all or any of them. Inverted lists alone answer such a query.
import type { ReadableReplica } from '../replica/readable.ts'
import type { TextQuery, TextQueryTerm } from '../vector/field.ts'
import type { TextTask } from './request.ts'
import type { TextPart, TextSearch } from './text-query.ts'

export interface PlainTerm {
  readonly boost: number
  readonly isRequired: boolean
}

/** By term. Undefined: the query has a clause that is more than its terms, or excludes something. */
export function plainTerms({ must, should, mustNot }: TextSearch): ReadonlyMap<string, PlainTerm> | undefined {
  if (mustNot.length > 0) return undefined
  const terms = new Map<string, PlainTerm>()
  for (const part of must) if (!addPart(terms, part, true)) return undefined
  for (const part of should) if (!addPart(terms, part, false)) return undefined
  return terms
}

/** The query of the lists for terms. Undefined: no text matches. */
export function plainQuery(
  wanted: ReadonlyMap<string, PlainTerm>,
  { fieldIndex, options }: TextTask,
  replica: ReadableReplica,
): TextQuery | undefined {
  const terms: TextQueryTerm[] = []
  for (const [term, { boost, isRequired }] of wanted) {
    const index = replica.terms.find(fieldIndex, term)
    if (index >= 0) terms.push({ index, boost, isRequired })
    else if (isRequired) return undefined
  }
  return terms.length === 0 ? undefined : { terms, k1: options.k1, b: options.b }
}

/** False: it is not plain. A text must have one term of a clause of `must` whose operator is `or`, and all or none of one of `should` with `and`. */
function addPart(terms: Map<string, PlainTerm>, part: TextPart, isRequired: boolean): boolean {
  if (part.kind !== 'words') return false
  // Texts without a score are found in another way.
  if (part.boost === 0 && !isRequired) return false
  if (part.terms.length > 1 && (part.operator === 'and') !== isRequired) return false
  for (const { term, times } of part.terms) {
    const known = terms.get(term)
    terms.set(term, {
      boost: (known?.boost ?? 0) + part.boost * times,
      isRequired: isRequired || known?.isRequired === true,
    })
  }
  return true
}
