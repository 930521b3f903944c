// Texts of all scripts from a seed, and the digest of their tokens under every language. `node corpus.ts` prints it, so that versions of
// Node.js can be compared.
import { createHash } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { type Random, seededRandom } from '@annal/wal/testing'
import { analyzerOf } from '../../src/text/analyzer.ts'
import { languages } from '../../src/text/language-table.ts'
import type { AnalyzerParams } from '../../src/text/params.ts'
import { stemsOf } from './stems.ts'

/** Changes only with a new version of the analyzer. */
export const digestOfVersion1 = '5c03140105112bba2e8943ed0cc18627c5e8ff83d14da571459d89851b8092c5'

/** Blocks of characters that texts have, with their neighbors: start and end. */
const blocks: readonly (readonly [number, number])[] = [
  ...([
    [0x20, 0x7f],
    [0x61, 0x7b],
    [0xa0, 0x250],
    [0x250, 0x370],
    [0x370, 0x530],
    [0x530, 0x600],
    [0x600, 0x780],
  ] as const),
  ...([
    [0x900, 0xe00],
    [0xe00, 0xf00],
    [0xf00, 0x1100],
    [0x1100, 0x1200],
    [0x1780, 0x1800],
    [0x1e00, 0x2000],
  ] as const),
  ...([
    [0x2000, 0x2100],
    [0x2100, 0x2400],
    [0x2460, 0x2600],
    [0x2600, 0x2800],
    [0x3000, 0x3400],
    [0x4e00, 0x5000],
  ] as const),
  ...([
    [0xa640, 0xa800],
    [0xac00, 0xae00],
    [0xd7b0, 0xe010],
    [0xf900, 0xfb00],
    [0xfb00, 0xfe00],
    [0xfe00, 0x10000],
  ] as const),
  ...([
    [0x10400, 0x10500],
    [0x11000, 0x11100],
    [0x1d400, 0x1d800],
    [0x1f1e0, 0x1f700],
    [0x20000, 0x20100],
  ] as const),
  ...([
    [0xe0000, 0xe0200],
    [0, 0x110000],
  ] as const),
]

const joins = [' ', ' ', ' ', '', '.', `'`, '’', '-', '_', ',', '\u0301', '\u200d', '\u00ad', '\ud800', '\udc00', '\n']

/** A text of some words: of the vocabulary, and of characters of one block each. */
export function randomText(random: Random, words: number): string {
  let text = ''
  for (let count = 0; count < words; count++) {
    text += random.chance(0.5) ? knownWord(random) : randomWord(random)
    text += joins[random.below(joins.length)] as string
  }
  return text
}

function knownWord(random: Random): string {
  const lists = Object.values(stemsOf)
  const words = (lists[random.below(lists.length)] as string).trim().split(/[\s,]+/)
  const word = words[random.below(words.length)] as string
  if (random.chance(0.2)) return word.toUpperCase()
  return random.chance(0.2) ? word.normalize('NFD') : word
}

function randomWord(random: Random): string {
  const [start, end] = blocks[random.below(blocks.length)] as readonly [number, number]
  const codes = Array.from({ length: 1 + random.below(8) }, () => start + random.below(end - start))
  return String.fromCodePoint(...codes)
}

/** Upper case and decomposition of the known words are the only things that Node.js contributes; they are old and stable. */
export function corpusDigest(): string {
  const random = seededRandom(20261127)
  const hash = createHash('sha256')
  const names = ['none', ...languages.map(({ name }) => name)]
  for (const language of names) {
    const params: AnalyzerParams = { language, analyzer: 1, prefixes: { min: 2, max: 5 } }
    const analyzer = analyzerOf(params)
    for (let round = 0; round < 60; round++) {
      const text = randomText(random, 40)
      analyzer.forEachToken(text, (term, position, start, end) => {
        hash.update(`${term}\u0000${position} ${start} ${end}\n`, 'utf16le')
      })
      for (const { term, position } of analyzer.queryTokens(text)) hash.update(`${term}\u0000${position}\n`, 'utf16le')
      hash.update(analyzer.fold(text), 'utf16le')
    }
  }
  return hash.digest('hex')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(
    corpusDigest() === digestOfVersion1 ? `same digest ${digestOfVersion1}` : `other digest ${corpusDigest()}`,
  )
}
