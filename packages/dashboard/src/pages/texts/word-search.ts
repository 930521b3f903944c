// The request of a search by words, by meaning, or by both.
import { type Collection, type DenseField, isDense, isEmbedded, isText } from '../../api/collections.ts'
import { meaningQuery, type SearchBody } from '../../api/search.ts'

export type Way = 'words' | 'meaning' | 'both'

export interface WordSearch {
  readonly words: string
  readonly way: Way
  readonly operator: 'or' | 'and'
}

const limit = 10

/** A dense field whose vectors a provider makes of texts. */
function embeddedField({ fields }: Collection): DenseField | undefined {
  return fields.filter(isDense).find(isEmbedded)
}

export function waysOf(collection: Collection): readonly Way[] {
  return embeddedField(collection) === undefined ? ['words'] : ['words', 'meaning', 'both']
}

/** Throws if the collection has no text field. */
export function searchOfWords(collection: Collection, { words, way, operator }: WordSearch): SearchBody {
  const text = collection.fields.find(isText)
  const dense = way === 'words' ? undefined : embeddedField(collection)
  if (text === undefined) throw new Error('this collection has no text field')
  const byWords = { query: words, limit, highlight: true, ...(operator === 'and' && { operator }) }
  const byMeaning = { query: meaningQuery(words), limit }
  if (dense === undefined) return { fields: { [text.name]: byWords } }
  if (way === 'meaning') return { fields: { [dense.name]: byMeaning } }
  return {
    fields: { [text.name]: byWords, [dense.name]: byMeaning },
    fusion: { method: 'rrf', weights: { [text.name]: 1, [dense.name]: 1 }, limit },
  }
}
