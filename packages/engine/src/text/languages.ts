// The rules of each language with its stems and stop words.
import { type Language, languageTable, type Stemmed } from './language-table.ts'
import { type Stemmer, stemmers } from './stemmers.ts'
import { stopWordLists } from './stop-words.ts'

export interface LanguageRules extends Partial<Language> {
  readonly stem?: Stemmer
  readonly stopWords: string
}

const stemmerOf: Readonly<Record<Stemmed, Stemmer>> & Readonly<Record<string, Stemmer | undefined>> = stemmers
const stopWordsOf: Readonly<Record<string, string | undefined>> = stopWordLists

/** The rules of a canonical name. */
export function rulesOf(name: string): LanguageRules {
  const stem = stemmerOf[name]
  return {
    ...(languageTable as Readonly<Record<string, Language>>)[name],
    ...(stem !== undefined && { stem }),
    stopWords: stopWordsOf[name] ?? '',
  }
}
