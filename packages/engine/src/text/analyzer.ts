// Splits a text into terms with positions and offsets. The same params give the same terms on every Node.js, for as long as Annal reads
// fields of that version of the analyzer: nothing here asks the ICU of Node.js, and changes need a new version.
//
// The order is: segments, lower case and compatibility forms, stop words, stems, accents. Scripts without spaces between words give bigrams
// of neighboring characters, and the last character of a run alone. So every character begins exactly one term, and a query of one
// character finds all of them by prefix (`isSearchedByPrefix`).
import { EngineError } from '../errors.ts'
import { termBytesMax, wordListMax, wordPrefixMax } from '../limits.ts'
import { CharacterClass, classOf, codeAt, isPlainUnit, unitsOf } from './characters.ts'
import { bareOf, cutTerm, plainOf } from './fold.ts'
import { languageOf, languages, noLanguage } from './language-table.ts'
import { rulesOf } from './languages.ts'
import { type Analyzer, type AnalyzerParams, analyzerVersions, type TakeToken, type Token } from './params.ts'
import { forEachSegment, marksEnd, SegmentKind } from './segment.ts'
import { type WordTerms, wordTerms } from './word-terms.ts'

const analyzersMax = 64
const byKey = new Map<string, Analyzer>()
const byParams = new WeakMap<AnalyzerParams, Analyzer>()

/** Analyzers are kept by their params, so asking again is cheap. Throws EngineError for an unknown version. */
export function analyzerOf(params: AnalyzerParams): Analyzer {
  const known = byParams.get(params)
  if (known !== undefined) return known
  const checked = checkedParams(params)
  const key = JSON.stringify(checked)
  const analyzer = byKey.get(key) ?? makeAnalyzer(checked)
  byKey.delete(key)
  byKey.set(key, analyzer)
  if (byKey.size > analyzersMax) byKey.delete(byKey.keys().next().value as string)
  byParams.set(params, analyzer)
  return analyzer
}

/**
 * True for a term of a query that is one character of a script that is indexed as bigrams. Texts have it as the beginning of a pair, so it
 * is searched by prefix.
 */
export function isSearchedByPrefix(term: string): boolean {
  if (term === '' || classOf(codeAt(term, 0)) !== CharacterClass.bigram) return false
  return marksEnd(term, unitsOf(codeAt(term, 0))) === term.length
}

function makeAnalyzer(params: AnalyzerParams): Analyzer {
  const rules = rulesOf(params.language)
  const words = wordTerms({
    rules,
    stopWords: params.stopWords ?? rules.stopWords.trim().split(/\s+/),
    keptWords: params.keptWords ?? [],
    prefixes: params.prefixes,
  })
  const collect = (text: string, use: TokenUse): Token[] => {
    const tokens: Token[] = []
    forEachTerm(text, words, use, (term, position, start, end) => tokens.push({ term, position, start, end }))
    return tokens
  }
  return {
    params,
    forEachToken: (text, take) => forEachTerm(text, words, 'text', take),
    tokens: (text) => collect(text, 'text'),
    queryTokens: (text) => collect(text, 'query'),
    fold: words.fold,
  }
}

type TokenUse = 'text' | 'query'

function forEachTerm(text: string, words: WordTerms, use: TokenUse, take: TakeToken): void {
  let position = 0
  forEachSegment(text, (kind, start, end) => {
    if (kind === SegmentKind.bigramRun) {
      position = takeBigrams(text, { start, end, position, use }, take)
      return
    }
    if (kind === SegmentKind.picture) take(pictureTerm(text.slice(start, end)), position, start, end)
    else {
      const isWord = kind === SegmentKind.word
      const { term, skip, prefixes } = isWord
        ? words.ofWord(text, start, end)
        : words.ofInitials(text.slice(start, end))
      if (term !== '') take(term, position, start + skip, end)
      if (use === 'text') for (const prefix of prefixes) take(prefix, position, start + skip, end)
    }
    position++
  })
}

interface BigramRun {
  readonly start: number
  readonly end: number
  readonly position: number
  readonly use: TokenUse
}

/** Takes the bigrams of a run of characters. Returns the position after it. */
function takeBigrams(text: string, run: BigramRun, take: TakeToken): number {
  let position = run.position
  let start = run.start
  let middle = clusterEnd(text, start)
  while (middle < run.end) {
    const end = clusterEnd(text, middle)
    take(pairTerm(text, start, middle, end), position, start, end)
    position++
    start = middle
    middle = end
  }
  if (run.use === 'text' || position === run.position) take(clusterTerm(text, start, middle), position, start, middle)
  return position + 1
}

/** The offset after a character and its marks. */
function clusterEnd(text: string, at: number): number {
  return marksEnd(text, at + unitsOf(codeAt(text, at)))
}

function pairTerm(text: string, start: number, middle: number, end: number): string {
  const simple = end - start === 2 && isPlainUnit(text.charCodeAt(start)) && isPlainUnit(text.charCodeAt(middle))
  if (simple) return text.slice(start, end)
  return cutTerm(clusterTerm(text, start, middle) + clusterTerm(text, middle, end))
}

function clusterTerm(text: string, start: number, end: number): string {
  return bareOf(plainOf(text.slice(start, end)))
}

/** An emoji without its variants, so that shades of color are one term. */
function pictureTerm(picture: string): string {
  let term = ''
  for (let at = 0; at < picture.length && term.length < termBytesMax; ) {
    const code = codeAt(picture, at)
    at += unitsOf(code)
    const kind = classOf(code)
    if (kind !== CharacterClass.mark && kind !== CharacterClass.format) term += String.fromCodePoint(code)
  }
  return cutTerm(term)
}

function checkedParams(params: AnalyzerParams): AnalyzerParams {
  const { analyzer, stopWords, keptWords, prefixes } = params
  if (!analyzerVersions.includes(analyzer)) {
    throw new EngineError(
      'invalid_argument',
      `analyzer must be ${analyzerVersions.join(' or ')}, got ${String(analyzer)}: this version of Annal has no other one`,
      { field: 'analyzer', value: analyzer, limit: analyzerVersions },
    )
  }
  const language = languageOf(params.language)
  if (language === undefined) {
    const names = [noLanguage, ...languages.map(({ name }) => name)]
    const message = `language must be one of ${names.join(', ')} or an ISO code, got ${String(params.language)}`
    throw new EngineError('invalid_argument', message, { field: 'language', value: params.language, limit: names })
  }
  if (stopWords !== undefined) checkWords('stopWords', stopWords)
  if (keptWords !== undefined) checkWords('keptWords', keptWords)
  if (prefixes !== undefined) checkPrefixes(prefixes)
  return {
    language,
    analyzer,
    ...(stopWords !== undefined && { stopWords: [...stopWords] }),
    ...(keptWords !== undefined && { keptWords: [...keptWords] }),
    ...(prefixes !== undefined && { prefixes: { min: prefixes.min, max: prefixes.max } }),
  }
}

function checkWords(field: string, words: readonly string[]): void {
  if (words.length > wordListMax) {
    const message = `${field} has ${words.length} words, more than ${wordListMax}`
    throw new EngineError('limit_exceeded', message, { field, value: words.length, limit: wordListMax })
  }
  const wrong = words.find((word) => word === '' || new TextEncoder().encode(word).length > termBytesMax)
  if (wrong !== undefined) {
    const message = `each word of ${field} must have 1 to ${termBytesMax} bytes of UTF-8, got ${JSON.stringify(wrong.slice(0, 40))}`
    throw new EngineError('invalid_argument', message, { field, value: wrong, limit: termBytesMax })
  }
}

function checkPrefixes({ min, max }: { readonly min: number; readonly max: number }): void {
  const valid = Number.isInteger(min) && Number.isInteger(max) && min >= 1 && max >= min && max <= wordPrefixMax
  if (valid) return
  const message = `prefixes must have whole numbers with 1 <= min <= max <= ${wordPrefixMax}, got min ${min} and max ${max}`
  throw new EngineError('invalid_argument', message, { field: 'prefixes', value: { min, max }, limit: wordPrefixMax })
}
