// The libraries that text search is compared with, each with one index of texts: search for all given words, or for any of them.
import { create, insertMultiple, search } from '@orama/orama'
import { Index } from 'flexsearch'
import MiniSearch from 'minisearch'
import type { Texts } from './zipf.ts'

export type Combine = 'all' | 'any'

export interface TextIndex {
  readonly name: string
  /** The best rows, ranked, `limit` of them if the library can stop there. */
  search(words: readonly string[], combine: Combine, limit: number): Promise<readonly number[]>
}

const batchRows = 5_000

export async function openMiniSearch(texts: Texts): Promise<TextIndex> {
  const index = new MiniSearch<{ id: number; text: string }>({ fields: ['text'], tokenize: splitWords })
  for (const rows of batchesOf(texts)) index.addAll(rows.map((id) => ({ id, text: texts.text(id) })))
  return {
    name: 'minisearch',
    search: async (words, combine, limit) => {
      const found = index.search(words.join(' '), { combineWith: combine === 'all' ? 'AND' : 'OR' })
      return found.slice(0, limit).map(({ id }) => id as number)
    },
  }
}

export async function openFlexSearch(texts: Texts): Promise<TextIndex> {
  const index = new Index({ tokenize: 'strict', encode: splitWords })
  for (const rows of batchesOf(texts)) for (const id of rows) index.add(id, texts.text(id))
  return {
    name: 'flexsearch',
    search: async (words, combine, limit) =>
      index.search(words.join(' '), { limit, suggest: combine === 'any' }) as number[],
  }
}

export async function openOrama(texts: Texts): Promise<TextIndex> {
  const tokenizer = { language: 'english', normalizationCache: new Map(), tokenize: splitWords }
  const index = create({ schema: { text: 'string' }, components: { tokenizer } })
  for (const rows of batchesOf(texts))
    await insertMultiple(
      index,
      rows.map((id) => ({ id: String(id), text: texts.text(id) })),
      batchRows,
    )
  return {
    name: 'orama',
    search: async (words, combine, limit) => {
      const threshold = combine === 'all' ? 0 : 1
      const { hits } = await search(index, { term: words.join(' '), threshold, limit, exact: true })
      return hits.map(({ id }) => Number(id))
    },
  }
}

function* batchesOf({ rows }: Texts): Generator<number[]> {
  for (let from = 0; from < rows; from += batchRows)
    yield Array.from({ length: Math.min(batchRows, rows - from) }, (_, i) => from + i)
}

function splitWords(text: string): string[] {
  return text.split(' ')
}
