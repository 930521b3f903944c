// Converts a word of a text to its term. The terms of frequent words are cached, in bounded memory, which changes no result.
import { CharacterClass, classOf, codeAt, unitsOf } from './characters.ts'
import { bareOf, plainOf } from './fold.ts'
import type { LanguageRules } from './languages.ts'
import { hashOf, wordCache } from './word-cache.ts'

export interface WordTerm {
  /** Empty: a stop word. */
  readonly term: string
  /** UTF-16 units of an article at the beginning that are not part of the term. */
  readonly skip: number
  /** Prefixes of the word, without the term itself. */
  readonly prefixes: readonly string[]
}

export interface WordTermsOptions {
  readonly rules: LanguageRules
  readonly stopWords: readonly string[]
  readonly keptWords: readonly string[]
  readonly prefixes: { readonly min: number; readonly max: number } | undefined
}

export interface WordTerms {
  /** The word between two offsets of a text. */
  ofWord(text: string, start: number, end: number): WordTerm
  ofInitials(word: string): WordTerm
  fold(word: string): string
}

const keptLengthMax = 64
const none: readonly string[] = []
const stopped: WordTerm = { term: '', skip: 0, prefixes: none }

export function wordTerms({ rules, stopWords, keptWords, prefixes }: WordTermsOptions): WordTerms {
  const stops = new Set(stopWords.map(plain))
  const kept = new Set(keptWords.map(plain))
  const articles = new Set(rules.articles)
  const known = wordCache<WordTerm>()

  function plain(word: string): string {
    const lower = plainOf(word, rules.dotlessI)
    if (rules.respelled === undefined) return lower
    let respelled = ''
    for (const one of lower) respelled += rules.respelled[one] ?? one
    return respelled
  }

  function fold(word: string): string {
    return bareOf(plain(word), rules.keptLetters)
  }

  function isStop(word: string): boolean {
    return word === '' || stops.has(word) || (rules.bareStopWords === true && stops.has(bareOf(word)))
  }

  function prefixesOf(word: string, term: string): readonly string[] {
    if (prefixes === undefined) return none
    const all: string[] = []
    let count = 0
    for (let at = 0; at < word.length && count < prefixes.max; ) {
      at += unitsOf(codeAt(word, at))
      count++
      const prefix = word.slice(0, at)
      if (count >= prefixes.min && prefix !== term) all.push(prefix)
    }
    return all
  }

  function analyze(word: string): WordTerm {
    let lower = plain(word)
    if (isStop(lower)) return stopped
    let skip = 0
    const apostrophe = lower.indexOf(`'`)
    if (apostrophe > 0 && articles.has(lower.slice(0, apostrophe))) {
      lower = lower.slice(apostrophe + 1)
      skip = apostropheAt(word) + 1
      if (isStop(lower)) return stopped
    }
    if (apostrophe > 0 && rules.apostropheEnds) {
      lower = lower.slice(0, apostrophe)
      if (isStop(lower)) return stopped
    }
    // A stemmer may leave nothing of a word that consists of endings.
    const isStemmed = rules.stem !== undefined && !kept.has(lower) && !/^[0-9.,]+$/.test(lower)
    const stem = (isStemmed && rules.stem?.(lower)) || lower
    const term = bareOf(stem, rules.keptLetters)
    return { term, skip, prefixes: prefixesOf(bareOf(lower, rules.keptLetters), term) }
  }

  function ofWord(text: string, start: number, end: number): WordTerm {
    if (end - start > keptLengthMax) return analyze(text.slice(start, end))
    const hash = hashOf(text, start, end)
    const found = known.find(text, start, end, hash)
    if (found !== undefined) return found
    const word = copyOf(text, start, end)
    const analyzed = analyze(word)
    known.keep(word, hash, analyzed)
    return analyzed
  }

  function ofInitials(word: string): WordTerm {
    const term = fold(word).replaceAll('.', '')
    return term === '' ? stopped : { term, skip: 0, prefixes: prefixesOf(term, term) }
  }

  return { ofWord, ofInitials, fold }
}

function apostropheAt(word: string): number {
  let at = 0
  while (classOf(word.charCodeAt(at)) !== CharacterClass.apostrophe) at++
  return at
}

/** A string with bytes of its own: a slice would keep the whole text in memory. */
function copyOf(text: string, start: number, end: number): string {
  const units: number[] = []
  for (let at = start; at < end; at++) units.push(text.charCodeAt(at))
  return String.fromCharCode(...units)
}
