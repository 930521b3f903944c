// Checks the parameters of a text field.
import { bDefault, k1Default, languageDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { k1Max, termBytesMax, wordListMax, wordPrefixMax } from '../limits.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { finiteNumber, wholeNumber } from '../model/numbers.ts'
import type { TextSchemaParams } from '../model/schema.ts'
import { languageOf, languages } from '../text/language-table.ts'
import { analyzerVersion, analyzerVersions } from '../text/params.ts'

type Input = { readonly [key: string]: unknown }

/** Throws invalid_argument or limit_exceeded. */
export function parseTextParams(params: Input, path: string): TextSchemaParams {
  const stopWords = params.stopWords ?? params.stop_words
  const keptWords = params.keptWords ?? params.kept_words
  return {
    language: parseLanguage(params.language ?? languageDefault, `${path}.language`),
    analyzer: parseVersion(params.analyzer ?? analyzerVersion, `${path}.analyzer`),
    k1: finiteNumber(params.k1 ?? k1Default, `${path}.k1`, 0, k1Max),
    b: finiteNumber(params.b ?? bDefault, `${path}.b`, 0, 1),
    ...(given(stopWords) && { stopWords: parseWords(stopWords, `${path}.stop_words`) }),
    ...(given(keptWords) && { keptWords: parseWords(keptWords, `${path}.kept_words`) }),
    ...(given(params.prefixes) && { prefixes: parsePrefixes(params.prefixes, `${path}.prefixes`) }),
  }
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null
}

function parseLanguage(value: unknown, field: string): string {
  const language = typeof value === 'string' ? languageOf(value) : undefined
  if (language !== undefined) return language
  const names = languages.map(({ name, code }) => `${name} (${code})`).join(', ')
  const message = `${field} must be none, or one of ${names}; got ${printed(value)}`
  throw new EngineError('invalid_argument', message, {
    field,
    value: shownValue(value),
    limit: languages.map(({ name }) => name),
  })
}

function parseVersion(value: unknown, field: string): number {
  if (typeof value === 'number' && analyzerVersions.includes(value)) return value
  const message = `${field} must be one of ${analyzerVersions.join(', ')}, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value), limit: [...analyzerVersions] })
}

function parseWords(value: unknown, field: string): readonly string[] {
  if (!Array.isArray(value)) {
    const message = `${field} must be an array of words, got ${printed(value)}`
    throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
  }
  if (value.length > wordListMax) {
    const message = `${field} has ${value.length} words, at most ${wordListMax} are allowed`
    throw new EngineError('limit_exceeded', message, { field, value: value.length, limit: wordListMax })
  }
  // A copy, because the caller may change the array.
  return value.map((word, i) => {
    const isWord = typeof word === 'string' && word !== '' && word.isWellFormed()
    if (isWord && Buffer.byteLength(word) <= termBytesMax) return word
    const message = `${field}[${i}] must be a word of 1 to ${termBytesMax} bytes, got ${printed(word)}`
    const details = { field: `${field}[${i}]`, value: shownValue(word), limit: termBytesMax }
    throw new EngineError(isWord ? 'limit_exceeded' : 'invalid_argument', message, details)
  })
}

function parsePrefixes(value: unknown, path: string): { readonly min: number; readonly max: number } {
  checkObject(value, path)
  const { min, max } = value as Input
  const least = wholeNumber(min, `${path}.min`, 1, wordPrefixMax)
  return { min: least, max: wholeNumber(max, `${path}.max`, least, wordPrefixMax) }
}
