// The languages of text fields by their names, which a test compares with those of the server.
export const languages = [
  ...['none', 'arabic', 'armenian', 'chinese', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek'],
  ...[
    'hindi',
    'hungarian',
    'indonesian',
    'irish',
    'italian',
    'japanese',
    'korean',
    'lithuanian',
    'nepali',
    'norwegian',
  ],
  ...['portuguese', 'romanian', 'russian', 'serbian', 'spanish', 'swedish', 'tamil', 'thai', 'turkish'],
] as const

export type LanguageName = (typeof languages)[number]

/** As a list of choices shows it. */
export function languageOptions(): readonly (readonly [LanguageName, string])[] {
  return languages.map((name) => [name, name === 'none' ? 'none: words as they are' : capitalized(name)])
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
