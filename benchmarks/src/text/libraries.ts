// Annal in this process, and the libraries that it is compared with, each with one index of texts: search for all given words, or for any of them.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openEngine } from '@annal/engine'
import { create, insertMultiple, search } from '@orama/orama'
import { Index } from 'flexsearch'
import MiniSearch from 'minisearch'
import { bytesOnDisk } from '../bytes-on-disk.ts'
import type { Combine } from './classes.ts'
import type { Texts } from './texts.ts'

/** The ids of hits, best first. At most `limit`, if the library can stop there. */
export type Search = (query: string, combine: Combine, limit: number) => Promise<readonly number[]>

export interface TextIndex {
  readonly name: string
  readonly search: Search
  /** Results of one search, at most. */
  readonly limitMax: number
  readonly seconds: number
  /** In memory, with what the index keeps of the texts. */
  readonly bytes: number
  /** What is said about its bytes. */
  readonly kept: string
  close(): Promise<void>
}

const batchRows = 1_000
const limitMax = 4_096

export const openers: { readonly [name: string]: (texts: Texts) => Promise<TextIndex> } = {
  annal: openAnnal,
  minisearch: (texts) => openLibrary('minisearch', texts, fillMiniSearch),
  flexsearch: (texts) => openLibrary('flexsearch', texts, fillFlexSearch),
  orama: (texts) => openLibrary('orama', texts, fillOrama),
}

/** A collection with a text field, searched as a program does that has the engine in its process. */
async function openAnnal(texts: Texts): Promise<TextIndex> {
  const begun = performance.now()
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-text-'))
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'interval', limits: { topKMax: limitMax } })
  const fields = [{ name: 'body', type: 'text' as const, params: { language: 'none' } }]
  const collection = await engine.database().createCollection({ name: 'texts', fields })
  for (const rows of batchesOf(texts))
    await collection.upsert(rows.map((row) => ({ id: String(row), fields: { body: texts.text(row) } })))
  const seconds = (performance.now() - begun) / 1_000
  await engine.checkpoint()
  const { memory } = collection.describe()
  const disk = megabytes(bytesOnDisk(dataDir))
  return {
    name: 'annal',
    search: async (query, combine, limit) => {
      const operator = combine === 'all' ? 'and' : 'or'
      const { results } = await collection.search({ fields: { body: { query, operator, limit } } })
      return (results.body ?? []).map(({ id }) => Number(id))
    },
    limitMax,
    seconds,
    bytes: Object.values(memory).reduce((sum, part) => sum + part, 0),
    kept: `with ids and texts, of which lists ${megabytes(memory.sparse ?? 0)}; ${disk} on disk, in the log and a checkpoint`,
    close: async () => {
      await engine.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function openLibrary(
  name: string,
  texts: Texts,
  fill: (texts: Texts) => Promise<{ readonly search: Search; readonly kept: string }>,
): Promise<TextIndex> {
  const before = bytesInUse()
  const begun = performance.now()
  const { search, kept } = await fill(texts)
  const seconds = (performance.now() - begun) / 1_000
  return {
    name,
    search,
    limitMax: texts.rows,
    seconds,
    bytes: bytesInUse() - before,
    kept,
    close: async () => undefined,
  }
}

async function fillMiniSearch(texts: Texts) {
  const index = new MiniSearch<{ id: number; text: string }>({ fields: ['text'], tokenize: splitWords })
  for (const rows of batchesOf(texts)) index.addAll(rows.map((id) => ({ id, text: texts.text(id) })))
  const search: Search = async (query, combine, limit) => {
    const found = index.search(query, { combineWith: combine === 'all' ? 'AND' : 'OR' })
    return found.slice(0, limit).map(({ id }) => id as number)
  }
  return { search, kept: 'without texts' }
}

async function fillFlexSearch(texts: Texts) {
  const index = new Index({ tokenize: 'strict', encode: splitWords })
  for (const rows of batchesOf(texts)) for (const id of rows) index.add(id, texts.text(id))
  const search: Search = async (query, combine, limit) =>
    index.search(query, { limit, suggest: combine === 'any' }) as number[]
  return { search, kept: 'without texts' }
}

async function fillOrama(texts: Texts) {
  const tokenizer = { language: 'english', normalizationCache: new Map(), tokenize: splitWords }
  const index = create({ schema: { text: 'string' }, components: { tokenizer } })
  for (const rows of batchesOf(texts))
    await insertMultiple(
      index,
      rows.map((id) => ({ id: String(id), text: texts.text(id) })),
      batchRows,
    )
  const searchWords: Search = async (query, combine, limit) => {
    const threshold = combine === 'all' ? 0 : 1
    const { hits } = await search(index, { term: query, threshold, limit, exact: true })
    return hits.map(({ id }) => Number(id))
  }
  return { search: searchWords, kept: 'with texts' }
}

export function* batchesOf({ rows }: Pick<Texts, 'rows'>): Generator<number[]> {
  for (let from = 0; from < rows; from += batchRows)
    yield Array.from({ length: Math.min(batchRows, rows - from) }, (_, i) => from + i)
}

function splitWords(text: string): string[] {
  return text.split(' ')
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`
}

function bytesInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
