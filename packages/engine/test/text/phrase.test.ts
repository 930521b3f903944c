// Phrases: which places of a text stand for the words of a phrase, compared with all choices one by one, and that no text and no phrase makes the
// comparison long.
import fc from 'fast-check'
import { test } from 'tap'
import { hasWordsAt } from '../../src/text/phrase.ts'

interface Word {
  readonly term: string
  readonly offset: number
}

const term = fc.constantFrom('a', 'b', 'c')
/** undefined is a stop word, which keeps its place. */
const words = fc.array(fc.option(term, { nil: undefined }), { minLength: 1, maxLength: 5 })

test('words with a slop are found where some choice of places has them', (t) => {
  fc.assert(
    fc.property(words, fc.array(term, { maxLength: 9 }), fc.integer({ min: 0, max: 4 }), (phrase, text, slop) => {
      const wanted = phrase.flatMap((one, offset): Word[] => (one === undefined ? [] : [{ term: one, offset }]))
      fc.pre(wanted.length > 0)
      return hasWordsAt(wanted, placesOf(text), slop) === hasSomeChoice(wanted, text, slop)
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
