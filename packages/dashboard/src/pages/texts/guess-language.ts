// The language of texts, by their script and their most frequent words. A guess that the user sees and can change.
import type { LanguageName } from '../collections/languages.ts'

/** Words that are frequent in one language and rare in the others. */
const frequentWords: readonly (readonly [LanguageName, string])[] = [
  ['english', 'the and of to is that with for was are this from which have'],
  ['german', 'der die das und ist nicht mit ein eine von zu den auf für sich auch'],
  ['french', 'le la les des et est une du dans que qui pour pas sur avec au'],
  ['spanish', 'el los las y es una del que por con para como su se más'],
  ['italian', 'il gli di che è una per con della sono nel non più anche dei'],
  ['portuguese', 'o os as e é uma do da que não com para em ao dos mais'],
  ['dutch', 'het een van en is dat niet op te voor met zijn aan ook bij'],
  ['swedish', 'och det att en som är på för med av den inte till ett var'],
  ['danish', 'og det at en er som på for med af den ikke til et var blev'],
  ['norwegian', 'og det at en er som på for med av den ikke til et var ble'],
  ['finnish', 'ja on ei se että oli mutta hän kun niin myös joka ovat'],
  ['turkish', 've bir bu için ile de da çok olarak daha gibi ne var'],
  ['hungarian', 'és a az hogy nem egy is meg volt csak de már'],
  ['romanian', 'și de la în nu este cu pe din care mai să fost'],
  ['indonesian', 'yang dan di untuk dengan ini dari tidak pada adalah itu'],
]

/** By one of its scripts; Japanese first, because it has Chinese characters too. */
const scripts: readonly (readonly [LanguageName, RegExp])[] = [
  ['japanese', /[\p{scx=Hiragana}\p{scx=Katakana}]/gu],
  ['korean', /\p{sc=Hangul}/gu],
  ['chinese', /\p{sc=Han}/gu],
  ['thai', /\p{sc=Thai}/gu],
  ['arabic', /\p{sc=Arabic}/gu],
  ['hindi', /\p{sc=Devanagari}/gu],
  ['tamil', /\p{sc=Tamil}/gu],
  ['greek', /\p{sc=Greek}/gu],
  ['armenian', /\p{sc=Armenian}/gu],
  ['russian', /\p{sc=Cyrillic}/gu],
]

const charactersRead = 20_000
/** Share of the letters that one script must have. */
const scriptShare = 0.2
/** Share of the words that the frequent ones must have. */
const wordShare = 0.05

/** `none` if no language is likely. */
export function guessLanguage(texts: readonly string[]): LanguageName {
  const text = texts.join('\n').slice(0, charactersRead).toLowerCase()
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  if (letters === 0) return 'none'
  const script = scripts.find(([, pattern]) => (text.match(pattern)?.length ?? 0) > letters * scriptShare)
  if (script !== undefined) return script[0]
  const words = text.match(/\p{L}+/gu) ?? []
  const counts = frequentWords.map(([language, frequent]) => {
    const known = new Set(frequent.split(' '))
    return { language, found: words.filter((word) => known.has(word)).length }
  })
  const best = counts.reduce((best, next) => (next.found > best.found ? next : best))
  return best.found > words.length * wordShare ? best.language : 'none'
}
