// What becomes of each column, and how texts are split: guessed, then changed by the user.
import type { ChunkBy } from '@annal/client'
import type { NewField } from '../../api/collections.ts'
import type { Json } from '../../api/objects.ts'
import type { Provider } from '../../api/server.ts'
import type { LanguageName } from '../collections/languages.ts'
import { guessLanguage } from './guess-language.ts'
import { documentColumn, type Table, textColumn } from './table.ts'

export type Role = 'text' | 'id' | 'filter' | 'meta' | 'none'

export interface Plan {
  /** Of the collection. */
  readonly name: string
  /** What makes vectors of the chunks; undefined for a collection that is searched by words only. */
  readonly provider?: Provider | undefined
  readonly language: LanguageName
  /** By column. */
  readonly roles: readonly Role[]
  readonly by: ChunkBy
  readonly size: number
  readonly overlap: number
}

const sizeDefault = 200
const idName = /^(_?id|uuid|key|slug|document|doc_?id|package)$/i
const textName = /^(text|body|content|description|abstract|plot|summary|message|comment|review)$/i
/** Longer values are read, not filtered by. */
const filterLengthMax = 64
/** More values than this share of the rows distinguish rows instead of grouping them. */
const filterDistinctShare = 0.6
const rowsRead = 5_000
/** Texts with fewer characters on average are labels. */
const textLengthMin = 30

export function guessPlan(table: Table, taken: readonly string[]): Plan {
  const roles = guessRoles(table)
  const texts = table.rows.slice(0, 50).map((row) => textOf(row, roles))
  return {
    name: freeName(table.name, taken),
    language: guessLanguage(texts),
    roles,
    by: table.isMarkdown ? 'markdown' : 'sentences',
    size: sizeDefault,
    overlap: 0,
  }
}

export function guessRoles({ columns, rows }: Table): readonly Role[] {
  const looks = columns.map((name, i) =>
    lookAt(
      name,
      rows.slice(0, rowsRead).map((row) => row[i]),
    ),
  )
  const ids = looks.filter(({ isId }) => isId)
  const id = (ids.find(({ name }) => idName.test(name)) ?? undefined)?.name
  const named = looks.filter(({ name, strings }) => name !== id && strings > 0 && textName.test(name))
  const longest = looks
    .filter(({ name, strings }) => name !== id && strings > 0)
    .sort((a, b) => b.length - a.length)
    .slice(0, 1)
  const long = looks.filter(({ name, length }) => name !== id && length >= textLengthMin && textName.test(name))
  const texts = new Set(
    (long.length > 0 ? long : named.length > 0 ? named.slice(0, 1) : longest).map(({ name }) => name),
  )
  return looks.map((look): Role => {
    if (look.name === id) return 'id'
    if (texts.has(look.name)) return 'text'
    if (look.filled === 0) return 'none'
    return look.isFilter ? 'filter' : 'meta'
  })
}

function lookAt(name: string, values: readonly (Json | undefined)[]) {
  const filled = values.filter((value) => value !== undefined && value !== null)
  const strings = filled.filter((value) => typeof value === 'string')
  const plain = filled.filter((value) => typeof value !== 'object')
  const distinct = new Set(plain.map(String)).size
  const length = strings.reduce((total, text) => total + text.length, 0) / Math.max(1, strings.length)
  const isShort = strings.every((text) => text.length <= filterLengthMax)
  const isGrouping = distinct <= Math.max(2, plain.length * filterDistinctShare)
  return {
    name,
    filled: filled.length,
    strings: strings.length,
    length,
    isId: filled.length === values.length && plain.length === values.length && distinct === values.length,
    isFilter: plain.length === filled.length && isShort && (strings.length === 0 || isGrouping),
  }
}

/** The texts of all text columns of a row. */
export function textOf(row: Table['rows'][number], roles: readonly Role[]): string {
  const texts = row.filter((value, i) => roles[i] === 'text' && value !== undefined && value !== null)
  return texts.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n\n')
}

/** The vector field that a provider makes of the texts. */
const meaningField = 'meaning'

/** The fields of the collection that a plan creates. */
export function fieldsOf({ language, provider }: Plan): readonly NewField[] {
  const text: NewField = { name: textColumn, type: 'text', params: { language } }
  if (provider === undefined) return [text]
  const embed = { provider: provider.name, from: textColumn }
  const params = { dimension: provider.dimension, space_type: 'cosine', precision: 'int8', embed }
  return [text, { name: meaningField, type: 'vector', params }]
}

/** The plan of the sample, which needs no guesses. */
export function samplePlan(taken: readonly string[]): Plan {
  return {
    name: freeName('guide', taken),
    language: 'english',
    roles: ['id', 'filter', 'text'],
    by: 'markdown',
    size: sizeDefault,
    overlap: 0,
  }
}

export const sampleColumns = [documentColumn, 'title', textColumn]

const nameLengthMax = 60

/** A name that the server accepts and no other collection has. */
export function freeName(wanted: string, taken: readonly string[]): string {
  const plain = wanted
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/^[_-]+|[_-]+$/g, '')
    .slice(0, nameLengthMax)
  const name = plain === '' ? 'texts' : plain
  let number = 2
  while (taken.includes(`${name}_${number}`)) number += 1
  return taken.includes(name) ? `${name}_${number}` : name
}
