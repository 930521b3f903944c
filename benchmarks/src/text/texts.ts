// The texts that searches are measured on, as words that every contender splits alike: lower-case letters and digits of ASCII, with spaces
// between them. Either seeded, with the frequencies of words of a language, or those of a file.
import { readFileSync } from 'node:fs'
import { wordOf, zipfTexts } from './zipf.ts'

export interface Texts {
  /** What they are, in one sentence. */
  readonly description: string
  readonly rows: number
  /** Number of texts with each word. */
  readonly having: ReadonlyMap<string, number>
  words(row: number): readonly string[]
  text(row: number): string
}

export function seededTexts(options: {
  readonly rows: number
  readonly vocabulary: number
  readonly seed: number
}): Texts {
  const { rows, vocabulary, seed } = options
  const { words: ranks, having } = zipfTexts(options)
  const words = (row: number) => Array.from(ranks(row), wordOf)
  const count = Array.from(having, (texts, rank): [string, number] => [wordOf(rank), texts])
  return {
    description: `${thousands(rows)} texts of 10 to 60 words, ${thousands(vocabulary)} different words with the frequencies of a language (Zipf), seed ${seed}.`,
    rows,
    having: new Map(count.filter(([, texts]) => texts > 0)),
    words,
    text: (row) => words(row).join(' '),
  }
}

/** Each line of the file is a JSON object with `text`, and optionally `title`. */
export function textsOf(file: string, rowsMax: number): Texts {
  const lines = readFileSync(file, 'utf8').split('\n')
  const texts = lines
    .filter((line) => line !== '')
    .slice(0, rowsMax)
    .map(plainText)
  const having = new Map<string, number>()
  for (const text of texts) for (const word of new Set(text.split(' '))) having.set(word, (having.get(word) ?? 0) + 1)
  having.delete('')
  const words = texts.reduce((sum, text) => sum + text.split(' ').length, 0)
  return {
    description: `${thousands(texts.length)} texts of a file, ${thousands(words)} words, ${thousands(having.size)} different ones.`,
    rows: texts.length,
    having,
    words: (row) => (texts[row] as string).split(' '),
    text: (row) => texts[row] as string,
  }
}

function plainText(line: string): string {
  const { title = '', text } = JSON.parse(line) as { readonly title?: string; readonly text: string }
  const bare = `${title} ${text}`.normalize('NFKD').toLowerCase()
  return (bare.match(/[a-z0-9]+/g) ?? []).join(' ')
}

function thousands(value: number): string {
  return value.toLocaleString('en')
}
