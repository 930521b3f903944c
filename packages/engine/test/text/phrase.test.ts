// Phrases: which places of a text stand for the words of a phrase, compared with all choices one by one, and that no text and no phrase makes the
// comparison long. Tokens that are kept answer like those that are not.
import { seededRandom } from '@annal/wal/testing'
import fc from 'fast-check'
import { test } from 'tap'
import { analyzerOf } from '../../src/text/analyzer.ts'
import { KeptTokens, TokenMemory } from '../../src/text/kept-tokens.ts'
import type { Analyzer } from '../../src/text/params.ts'
import { hasWordsAt, PhraseMatcher } from '../../src/text/phrase.ts'
import { randomText } from './corpus.ts'

interface Word {
  readonly term: string
  readonly offset: number
}

const term = fc.constantFrom('a', 'b', 'c')
/** undefined is a stop word, which keeps its place. */
const words = fc.array(fc.option(term, { nil: undefined }), { minLength: 1, maxLength: 5 })
/** Does not analyze: each character is a term, and a space keeps its place. */
const charactersAreTerms: Analyzer = {
  ...analyzerOf({ language: 'none', analyzer: 1 }),
  forEachToken: (text, take) => {
    for (const [at, one] of [...text].entries()) if (one !== ' ') take(one, at, at, at + 1)
  },
}

const wordsOf = (phrase: readonly (string | undefined)[]) =>
  phrase.flatMap((one, offset): Word[] => (one === undefined ? [] : [{ term: one, offset }]))

test('words with a slop are found where some choice of places has them', (t) => {
  const memory = new TokenMemory(2 ** 20)
  fc.assert(
    fc.property(words, fc.array(term, { maxLength: 9 }), fc.integer({ min: 0, max: 4 }), (phrase, text, slop) => {
      const wanted = wordsOf(phrase)
      fc.pre(wanted.length > 0)
      const expected = hasSomeChoice(wanted, text, slop)
      const tokens = memory.analyze(charactersAreTerms, text.join(''))
      return (
        hasWordsAt(wanted, placesOf(text), slop) === expected &&
        new PhraseMatcher(wanted, slop, memory).isIn(tokens) === expected
      )
    }),
    { numRuns: 5_000 },
  )
  t.end()
})

test('a long phrase is compared with a long text in one pass', (t) => {
  // With every choice tried, each of these would take longer than the universe is old.
  const phrase = Array.from({ length: 128 }, (_, offset): Word => ({ term: offset === 127 ? 'b' : 'a', offset }))
  const few = [...Array<string>(90).fill('a'), 'b']
  t.notOk(hasWordsAt(phrase, placesOf(few), 100))
  const blocks = Array.from({ length: 2_000 }, () => few).flat()
  t.ok(hasWordsAt(phrase, placesOf(blocks), 100))
  t.notOk(
    hasWordsAt(
      phrase,
      placesOf(Array.from({ length: 2_000 }, () => [...few, ...Array<string>(60).fill('c')]).flat()),
      30,
    ),
  )
  t.end()
})

test('tokens of texts of all scripts are kept with their terms and positions, in a memory that is emptied', (t) => {
  const random = seededRandom(20261127)
  const analyzer = analyzerOf({ language: 'english', analyzer: 1, prefixes: { min: 1, max: 3 } })
  const memory = new TokenMemory(2 ** 20)
  const kept = new KeptTokens(memory)
  const texts = Array.from({ length: 1_000 }, () => randomText(random, 120))
  let found = 0
  for (let round = 0; round < 4_000; round++) {
    const ordinal = random.below(texts.length)
    const text = texts[ordinal] as string
    const tokens = analyzer.tokens(text)
    const at = random.below(Math.max(1, tokens.length - 1))
    const [first, second] = [tokens[at], tokens[at + 1 + random.below(3)]]
    if (first === undefined || second === undefined) continue
    const offset = second.position - first.position + (random.chance(0.3) ? 1 : 0)
    const phrase = [
      { term: first.term, offset: 0 },
      { term: second.term, offset },
    ]
    const slop = random.below(2)
    const places = new Map(phrase.map(({ term }) => [term, placesIn(tokens, term)]))
    const known = kept.find(0, ordinal)
    if (known) found++
    const isIn = new PhraseMatcher(phrase, slop, memory).isIn(known ?? kept.analyze(0, ordinal, analyzer, text))
    if (isIn !== hasWordsAt(phrase, places, slop)) t.fail(`${JSON.stringify(phrase)} in ${JSON.stringify(text)}`)
  }
  t.ok(found > 0, `${found} texts were kept`)
  t.ok(memory.generation > 1, 'and the memory was full')
  t.end()
})

test('tokens of an ordinal are forgotten for its next text, and those of other fields and ordinals are not', (t) => {
  const memory = new TokenMemory(2 ** 20)
  const kept = new KeptTokens(memory)
  const isIn = (field: number, ordinal: number) => {
    const tokens = kept.find(field, ordinal)
    return tokens && new PhraseMatcher(wordsOf([...'ab']), 0, memory).isIn(tokens)
  }
  kept.analyze(0, 7, charactersAreTerms, 'ab')
  kept.analyze(2, 7, charactersAreTerms, 'ba')
  kept.analyze(2, 5_000, charactersAreTerms, 'cab')
  t.strictSame(
    [isIn(0, 7), isIn(2, 7), isIn(2, 5_000), isIn(1, 7), isIn(2, 8)],
    [true, false, true, undefined, undefined],
  )
  kept.forget(7)
  t.strictSame([isIn(0, 7), isIn(2, 7), isIn(2, 5_000)], [undefined, undefined, true])
  const other = new KeptTokens(memory)
  t.equal(other.find(2, 5_000), undefined, 'collections have tokens of their own')
  t.end()
})

test('a gap between words of any length is a gap, and a text that is too long is compared without being kept', (t) => {
  const memory = new TokenMemory(2 ** 20)
  const kept = new KeptTokens(memory)
  for (const gap of [0, 1, 4_094, 4_095, 4_096, 12_285, 100_000]) {
    const text = `b${' '.repeat(gap)}ac`
    for (const [wrong, slop] of [
      [0, 0],
      [1, 0],
      [1, 1],
    ] as const) {
      const phrase = [
        { term: 'b', offset: 0 },
        { term: 'a', offset: gap + 1 + wrong },
        { term: 'c', offset: gap + 2 + wrong },
      ]
      const matcher = new PhraseMatcher(phrase, slop, memory)
      t.equal(matcher.isIn(kept.analyze(0, 1, charactersAreTerms, text)), wrong <= slop, `${gap}, ${wrong}, ${slop}`)
    }
  }
  const long = `${'c'.repeat(200_000)}ab`
  const matcher = new PhraseMatcher(wordsOf([...'cab']), 0, memory)
  t.ok(matcher.isIn(kept.analyze(0, 2, charactersAreTerms, long)))
  const tokens = kept.find(0, 2)
  t.ok(tokens && matcher.isIn(tokens), 'it is there for the next phrase')
  t.equal(kept.find(1, 2), undefined)
  kept.analyze(0, 3, charactersAreTerms, 'b')
  t.equal(kept.find(0, 2), undefined, 'until another text is analyzed')
  t.ok(kept.find(0, 1), 'what was kept stays')
  kept.analyze(0, 2, charactersAreTerms, long)
  kept.forget(2)
  t.equal(kept.find(0, 2), undefined)
  t.notOk(new PhraseMatcher(wordsOf([...'caz']), 0, memory).isIn(kept.analyze(0, 2, charactersAreTerms, long)))
  t.end()
})

function placesIn(tokens: readonly { readonly term: string; readonly position: number }[], term: string): number[] {
  return tokens.flatMap((token) => (token.term === term ? [token.position] : []))
}

function placesOf(text: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>([...'abc'].map((one) => [one, []]))
  for (const [place, one] of text.entries()) places.get(one)?.push(place)
  return places
}

function hasSomeChoice(wanted: readonly Word[], text: readonly string[], slop: number): boolean {
  const choose = (next: number, shifts: readonly number[], used: ReadonlySet<number>): boolean => {
    const word = wanted[next]
    if (word === undefined) return Math.max(...shifts) - Math.min(...shifts) <= slop
    return text.some(
      (one, place) =>
        one === word.term &&
        !used.has(place) &&
        choose(next + 1, [...shifts, place - word.offset], new Set([...used, place])),
    )
  }
  return choose(0, [], new Set())
}
