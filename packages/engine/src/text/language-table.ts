// The languages of texts, with what differs from one to the other besides stems and stop words. Every rule is part of version 1 of the analyzer.

/** What differs from language to language, besides stems and stop words. */
export interface Language {
  readonly code: string
  /** Stop words are compared without accents, because the list has none. */
  readonly bareStopWords?: boolean
  /** What an apostrophe cuts from the beginning of a word: `l'amour` is `amour`. */
  readonly articles?: readonly string[]
  /** An apostrophe ends the word: `Ankara'da` is `Ankara`. */
  readonly apostropheEnds?: boolean
  /** Accented letters that are letters of their own in the alphabet, so folding keeps them: Swedish `får` is not `far`. */
  readonly keptLetters?: string
  /** I is the capital of the dotless i. */
  readonly dotlessI?: boolean
  /** Letters that are written with either of two marks, and what the stemmer expects. */
  readonly respelled?: Readonly<Record<string, string>>
}

const nordic = 'æøå'
const balticLetters = 'åäö'

/** Languages with stems. */
export type Stemmed =
  | 'arabic'
  | 'armenian'
  | 'danish'
  | 'dutch'
  | 'english'
  | 'finnish'
  | 'french'
  | 'german'
  | 'greek'
  | 'hindi'
  | 'hungarian'
  | 'indonesian'
  | 'irish'
  | 'italian'
  | 'lithuanian'
  | 'nepali'
  | 'norwegian'
  | 'portuguese'
  | 'romanian'
  | 'russian'
  | 'serbian'
  | 'spanish'
  | 'swedish'
  | 'tamil'
  | 'turkish'
/** Languages whose words are indexed as bigrams, so there is nothing to stem. */
type Bigram = 'chinese' | 'japanese' | 'korean' | 'thai'

/** By Snowball's name, which the stemmer and the list of stop words have too. */
export const languageTable: Readonly<Record<Stemmed | Bigram, Language>> = {
  arabic: { code: 'ar' },
  armenian: { code: 'hy' },
  chinese: { code: 'zh' },
  danish: { code: 'da', keptLetters: nordic },
  dutch: { code: 'nl' },
  english: { code: 'en' },
  finnish: { code: 'fi', keptLetters: balticLetters },
  french: {
    code: 'fr',
    articles: ['l', 'm', 't', 'qu', 'n', 's', 'j', 'd', 'c', 'jusqu', 'quoiqu', 'lorsqu', 'puisqu'],
  },
  german: { code: 'de' },
  greek: { code: 'el', bareStopWords: true },
  hindi: { code: 'hi' },
  hungarian: { code: 'hu' },
  indonesian: { code: 'id' },
  irish: { code: 'ga', articles: ['b', 'd', 'm'] },
  italian: {
    code: 'it',
    articles: [
      ...['c', 'l', 'all', 'dall', 'dell', 'nell', 'sull', 'coll', 'pell', 'gl', 'agl', 'dagl', 'degl', 'negl'],
      ...['sugl', 'un', 'm', 't', 's', 'v', 'd'],
    ],
  },
  japanese: { code: 'ja' },
  korean: { code: 'ko' },
  lithuanian: { code: 'lt' },
  nepali: { code: 'ne' },
  norwegian: { code: 'no', keptLetters: nordic },
  portuguese: { code: 'pt' },
  romanian: { code: 'ro', respelled: { ș: 'ş', ț: 'ţ' } },
  russian: { code: 'ru' },
  serbian: { code: 'sr' },
  spanish: { code: 'es', keptLetters: 'ñ' },
  swedish: { code: 'sv', keptLetters: balticLetters },
  tamil: { code: 'ta' },
  thai: { code: 'th' },
  turkish: { code: 'tr', keptLetters: 'çğıöşü', dotlessI: true, apostropheEnds: true },
}

/** Other names of a language. */
const aliases: Readonly<Record<string, string>> = { nb: 'norwegian', nn: 'norwegian' }

/** The language of a field whose words are neither stemmed nor left out. */
export const noLanguage = 'none'

/** Canonical names with their ISO codes. */
export const languages: readonly { readonly name: string; readonly code: string }[] = Object.entries(languageTable).map(
  ([name, { code }]) => ({ name, code }),
)

const nameOf = new Map<string, string>([
  [noLanguage, noLanguage],
  ...languages.flatMap(({ name, code }): [string, string][] => [
    [name, name],
    [code, name],
  ]),
  ...Object.entries(aliases),
])

/** `english`, `en` -> `english`; undefined: unknown. */
export function languageOf(name: string): string | undefined {
  return nameOf.get(name)
}
