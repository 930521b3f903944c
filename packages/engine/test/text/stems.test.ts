// Every language gives the stems that Snowball publishes, and a text in it gives their folded forms.
import { test } from 'tap'
import { analyzerOf } from '../../src/text/analyzer.ts'
import { languageOf, languages } from '../../src/text/language-table.ts'
import { rulesOf } from '../../src/text/languages.ts'
import { stemsOf } from './stems.ts'

interface Pair {
  readonly word: string
  readonly stem: string
}

function pairsOf(language: string): readonly Pair[] {
  const list = (stemsOf[language] ?? '').trim().split(/,\s*/)
  return list.map((pair) => {
    const [word = '', stem = ''] = pair.split(' ')
    return { word, stem }
  })
}

const bigram = ['chinese', 'japanese', 'korean', 'thai']
const stemmed = languages.filter(({ name }) => !bigram.includes(name))

test('each language with stems has at least ten published pairs', (t) => {
  t.ok(stemmed.length >= 25)
  for (const { name } of stemmed) t.ok(pairsOf(name).length >= 10, name)
  t.equal(Object.keys(stemsOf).length, stemmed.length)
  t.end()
})

test('languages that are indexed as bigrams have neither stems nor stop words', (t) => {
  const text = '日本語の本 한국어 ภาษาไทย and the running U.S.'
  const plain = analyzerOf({ language: 'none', analyzer: 1 }).tokens(text)
  for (const language of bigram) t.strictSame(analyzerOf({ language, analyzer: 1 }).tokens(text), plain, language)
  t.end()
})

for (const { name, code } of stemmed) {
  test(`stems of ${name}`, (t) => {
    const analyzer = analyzerOf({ language: name, analyzer: 1, stopWords: [] })
    const stem = rulesOf(name).stem as (word: string) => string
    for (const pair of pairsOf(name)) {
      t.equal(stem(pair.word), pair.stem, `the stem of ${pair.word}`)
      const found = analyzer.tokens(`(${pair.word})`)
      const folded = name === 'greek' ? analyzer.fold(pair.stem.replaceAll('ς', 'σ')) : analyzer.fold(pair.stem)
      t.strictSame(
        found,
        [{ term: folded, position: 0, start: 1, end: 1 + pair.word.length }],
        `the term of ${pair.word}`,
      )
    }
    t.equal(languageOf(code), name)
    t.end()
  })
}

test('words of many languages and the terms that they share with their other forms', (t) => {
  const same: Readonly<Record<string, readonly (readonly string[])[]>> = {
    english: [
      ['connection', 'Connected', 'connecting', 'CONNECTIONS'],
      [`horse's`, 'horse’s', 'horses'],
    ],
    german: [
      ['Häuser', 'HÄUSER', 'Hauser', 'Ha\u0308user'],
      ['Straße', 'STRASSE', 'strasse'],
    ],
    french: [
      ['école', `l'école`, 'L’ÉCOLE', 'ecole', 'écoles'],
      ['mangeait', 'mangeaient'],
    ],
    italian: [
      [`dell'amico`, 'amico'],
      ['città', 'citta'],
    ],
    spanish: [
      ['canción', 'cancion'],
      ['niños', 'niño', 'NIÑO'],
    ],
    turkish: [
      [`Ankara'da`, 'ankara', 'ANKARA'],
      ['IŞIK', 'ışık'],
      ['İZMİR', 'izmir', 'I\u0307zmi\u0307r'],
    ],
    greek: [['λόγος', 'ΛΌΓΟΣ', 'λογος', 'ΛΟΓΟΣ']],
    russian: [
      ['ёлка', 'елка', 'ЁЛКА'],
      ['книга', 'книги', 'кни\u0301га'],
    ],
    romanian: [['ştiinţă', 'știință', 'ȘTIINȚĂ']],
    swedish: [['flickor', 'flickorna']],
    arabic: [['كِتَاب', 'كتاب', 'كتـــاب']],
    hindi: [['लड़के', 'लड़का']],
  }
  for (const [language, groups] of Object.entries(same)) {
    const analyzer = analyzerOf({ language, analyzer: 1 })
    for (const words of groups) {
      const terms = words.map((word) => analyzer.tokens(word).map(({ term }) => term))
      for (const [at, term] of terms.entries()) {
        t.strictSame(term, terms[0], `${language}: ${words[at]} is found by ${words[0]}`)
      }
    }
  }
  t.end()
})

test('letters that are letters of their own alphabet stay different', (t) => {
  const different: readonly (readonly [string, string, string])[] = [
    ['swedish', 'får', 'far'],
    ['finnish', 'säde', 'sade'],
    ['danish', 'mål', 'mal'],
    ['norwegian', 'før', 'for'],
    ['spanish', 'año', 'ano'],
    ['turkish', 'ışık', 'işik'],
  ]
  for (const [language, one, other] of different) {
    const analyzer = analyzerOf({ language, analyzer: 1, stopWords: [] })
    t.not(analyzer.tokens(one)[0]?.term, analyzer.tokens(other)[0]?.term, `${language}: ${one} and ${other}`)
    t.equal(
      analyzerOf({ language: 'none', analyzer: 1 }).fold(one),
      analyzerOf({ language: 'none', analyzer: 1 }).fold(other),
    )
  }
  t.end()
})

test('stop words of a language count as positions and give no terms', (t) => {
  const texts: Readonly<Record<string, readonly [string, readonly string[], readonly number[]]>> = {
    english: [`The cat isn't on a mat`, ['cat', 'mat'], [1, 5]],
    german: ['Die Katze ist auf der Matte', ['katz', 'matt'], [1, 5]],
    french: [`C'est l'ami de la mer`, ['ami', 'mer'], [1, 4]],
    greek: ['Το σπίτι και η θάλασσα', ['σπιτ', 'θαλασσ'], [1, 4]],
    russian: ['Он и она в доме', ['дом'], [4]],
    turkish: ['Bu ev ve o bahçe', ['ev', 'bahçe'], [1, 4]],
  }
  for (const [language, [text, terms, positions]] of Object.entries(texts)) {
    const tokens = analyzerOf({ language, analyzer: 1 }).tokens(text)
    t.strictSame(
      tokens.map(({ term }) => term),
      terms,
      language,
    )
    t.strictSame(
      tokens.map(({ position }) => position),
      positions,
      language,
    )
  }
  t.end()
})
