// Properties of every analyzer, and what it rejects.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { analyzerOf, isSearchedByPrefix } from '../../src/text/analyzer.ts'
import { loadAnalyzers } from '../../src/text/analyzers.ts'
import { countTerms } from '../../src/text/counted-text.ts'
import { languageOf, languages } from '../../src/text/language-table.ts'
import { type AnalyzerParams, analyzerVersion, analyzerVersions } from '../../src/text/params.ts'
import { randomText } from './corpus.ts'

const seed = chosenSeed()
const names = ['none', ...languages.map(({ name }) => name)]

test(`random texts give ordered tokens with exact offsets, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 1_000; round++) {
    const language = names[random.below(names.length)] as string
    const prefixes = random.chance(0.3) ? { min: 1 + random.below(3), max: 3 + random.below(5) } : undefined
    const analyzer = analyzerOf({ language, analyzer: 1, ...(prefixes && { prefixes }) })
    const text = randomText(random, 30)
    const tokens = analyzer.tokens(text)
    let last = { position: -1, start: 0, end: 0 }
    for (const token of tokens) {
      const { term, position, start, end } = token
      const inOrder =
        position > last.position || (position === last.position && start === last.start && end === last.end)
      const inText = start >= last.start && end >= last.end && start < end && end <= text.length
      const whole =
        term !== '' && term.isWellFormed() && Buffer.byteLength(term) <= 256 && text.slice(start, end).isWellFormed()
      if (!inOrder || !inText || !whole) t.fail(JSON.stringify({ round, language, token, last }))
      last = token
    }
    // The word alone gives the same terms: nothing depends on its neighbors.
    const one = tokens[random.below(Math.max(1, tokens.length))]
    if (one !== undefined) {
      const alone = analyzer.tokens(text.slice(one.start, one.end)).map(({ term }) => term)
      if (!alone.includes(one.term)) t.fail(JSON.stringify({ round, language, one, alone }))
    }
    // Queries have the terms of texts, without prefixes.
    const all = new Set(tokens.map(({ term, position }) => `${position} ${term}`))
    const missing = analyzer.queryTokens(text).filter(({ term, position }) => !all.has(`${position} ${term}`))
    t.strictSame(missing, [], `round ${round}`)
  }
  t.end()
})

test('a long text of any kind is analyzed to its end', (t) => {
  const analyzer = analyzerOf({ language: 'english', analyzer: 1 })
  const size = 1_048_576
  const units = [
    'a',
    'word ',
    '日',
    '\u0301',
    'a\u0301',
    '\ud800',
    '👍',
    '👨\u200d',
    '_',
    'a_',
    '1,',
    'a.',
    '🇩',
    '\u200d',
    `a'`,
    ' ',
  ]
  for (const unit of units) {
    const text = `${unit.repeat(Math.floor(size / unit.length))} end`
    const tokens = analyzer.tokens(text)
    t.equal(tokens.at(-1)?.term, 'end', JSON.stringify(unit))
    t.equal(tokens.at(-1)?.end, text.length)
  }
  t.end()
})

test('words that push each other out of the memory keep their terms', (t) => {
  const analyzer = analyzerOf({ language: 'english', analyzer: 1 })
  const words = Array.from({ length: 100_000 }, (_, n) => `w${n.toString(36)}ings`)
  const termsOf = () => words.map((word) => analyzer.tokens(word)[0]?.term)
  const first = termsOf()
  t.ok(new Set(first).size > 90_000)
  t.strictSame(termsOf(), first)
  t.strictSame(
    analyzer.tokens(words.join(' ')).map(({ term }) => term),
    first,
  )
  t.end()
})

test('analyzers are kept by their params', (t) => {
  const params = { language: 'english', analyzer: 1, stopWords: ['a'] }
  t.equal(analyzerOf(params), analyzerOf(params))
  t.equal(analyzerOf({ ...params }), analyzerOf({ language: 'en', stopWords: ['a'], analyzer: 1 }))
  t.not(analyzerOf(params), analyzerOf({ ...params, stopWords: ['b'] }))
  for (let n = 0; n < 200; n++) analyzerOf({ ...params, stopWords: [`word${n}`] })
  t.strictSame(
    analyzerOf({ ...params })
      .tokens('a b c')
      .map(({ term }) => term),
    ['b', 'c'],
  )
  t.end()
})

test('languages have names and ISO codes', (t) => {
  t.ok(languages.length >= 15)
  for (const { name, code } of languages) {
    t.equal(languageOf(name), name)
    t.equal(languageOf(code), name)
    t.match(code, /^[a-z]{2}$/)
  }
  t.equal(languageOf('none'), 'none')
  t.equal(languageOf('nb'), 'norwegian')
  for (const unknown of ['klingon', '', 'English', 'constructor', '__proto__']) t.equal(languageOf(unknown), undefined)
  t.ok(analyzerVersions.includes(analyzerVersion))
  t.end()
})

test('params that no analyzer has are rejected by name, value, and limit', (t) => {
  const good: AnalyzerParams = { language: 'english', analyzer: 1 }
  const wrong: readonly (readonly [Partial<AnalyzerParams>, string, string, RegExp])[] = [
    [{ language: 'klingon' }, 'invalid_argument', 'language', /language must be one of none, arabic,.* got klingon/],
    [{ analyzer: 2 }, 'invalid_argument', 'analyzer', /analyzer must be 1, got 2/],
    [{ analyzer: 0 }, 'invalid_argument', 'analyzer', /got 0/],
    [{ stopWords: [''] }, 'invalid_argument', 'stopWords', /1 to 256 bytes/],
    [{ keptWords: ['é'.repeat(129)] }, 'invalid_argument', 'keptWords', /1 to 256 bytes/],
    [{ stopWords: new Array<string>(10_001).fill('a') }, 'limit_exceeded', 'stopWords', /10001 words, more than 10000/],
    [{ prefixes: { min: 0, max: 3 } }, 'invalid_argument', 'prefixes', /got min 0 and max 3/],
    [{ prefixes: { min: 3, max: 2 } }, 'invalid_argument', 'prefixes', /got min 3 and max 2/],
    [{ prefixes: { min: 1, max: 33 } }, 'invalid_argument', 'prefixes', /max <= 32/],
    [{ prefixes: { min: 1.5, max: 3 } }, 'invalid_argument', 'prefixes', /whole numbers/],
  ]
  for (const [part, code, field, message] of wrong) {
    t.throws(
      () => analyzerOf({ ...good, ...part }),
      { code, message, details: { field } },
      JSON.stringify(part).slice(0, 60),
    )
  }
  t.end()
})

test('a run without spaces has a term for each pair, and its length is its number of characters, as the guide says', async (t) => {
  await loadAnalyzers()
  const params: AnalyzerParams = { language: 'none', analyzer: 1 }
  const terms = (text: string) => countTerms(text, params)
  const query = (text: string) =>
    analyzerOf(params)
      .queryTokens(text)
      .map(({ term }) => term)
  t.match(terms('東京都庁'), { terms: ['東京', '京都', '都庁', '庁'], length: 4 })
  t.match(terms('東京 tower'), { terms: ['東京', '京', 'tower'], length: 3 })
  t.match(terms('東京、都庁。'), { terms: ['東京', '京', '都庁', '庁'], length: 4 })
  t.strictSame(query('東京都'), ['東京', '京都'])
  t.strictSame(query('都'), ['都'])
  t.ok(isSearchedByPrefix('都'))
})
