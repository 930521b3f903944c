// Writes src/text/unicode-tables.ts: the classes of characters, and what they are folded to, as of the Unicode version of this Node.js.
// Analyzers of one version need one Unicode version, so this refuses to run on another one than the tables have. Usage, with Node 22:
//   node scripts/make-text-tables.mjs [--check]
// With `--check` it compares instead of writing.
import { readFileSync, writeFileSync } from 'node:fs'

const unicodeVersion = '17.0'
const target = new URL('../src/text/unicode-tables.ts', import.meta.url)
const last = 0x10ffff

/** The order is that of `CharacterClass` in src/text/characters.ts. */
const [
  other,
  letter,
  digit,
  mark,
  format,
  bigram,
  apostrophe,
  middle,
  period,
  comma,
  underscore,
  emoji,
  regional,
  joiner,
] = Array.from({ length: 14 }, (_, index) => index)

/** Scripts that are written without spaces between words, or whose words are too long to be terms. */
const bigramScripts =
  /[\p{Ideographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Yi}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tai_Viet}]/u
/** The prolonged sound mark, its half-width form, and the vertical repeat marks are common to Hiragana and Katakana. */
const bigramToo = new Set([0x30fc, 0xff70, 0x3031, 0x3032, 0x3033, 0x3034, 0x3035, 0x303c])
/** Voiced sound marks of half-width Katakana are letters in Unicode, and marks here. Vowels and finals of Hangul follow their consonant. */
const isMark = (code, text) =>
  /\p{M}/u.test(text) ||
  code === 0xff9e ||
  code === 0xff9f ||
  (code >= 0x1160 && code <= 0x11ff) ||
  (code >= 0xd7b0 && code <= 0xd7fb) ||
  /\p{Emoji_Modifier}/u.test(text)

function classOf(code) {
  if (code >= 0xd800 && code <= 0xdfff) return other
  const text = String.fromCodePoint(code)
  if (/\p{Cn}|\p{Co}/u.test(text)) return other
  if (`'‘’ʼ＇`.includes(text)) return apostrophe
  if ('·׳״'.includes(text)) return middle
  if ('.․．'.includes(text)) return period
  if (',，٫٬'.includes(text)) return comma
  if (/\p{Pc}/u.test(text)) return underscore
  if (code === 0x200d) return joiner
  if (code === 0x200b) return other
  if (/\p{Cf}|\p{Variation_Selector}/u.test(text)) return format
  if (code >= 0x1f1e6 && code <= 0x1f1ff) return regional
  if (isMark(code, text)) return mark
  if (/\p{Nd}/u.test(text)) return digit
  if (/\p{No}/u.test(text))
    return /^\d+$/.test(text.normalize('NFKC')) || !/[⁄().,]/.test(text.normalize('NFKC')) ? digit : other
  if (bigramToo.has(code)) return bigram
  if (/\p{L}|\p{Nl}/u.test(text) && bigramScripts.test(text)) return bigram
  if (/\p{L}|\p{Nl}|\p{Alphabetic}/u.test(text)) return letter
  // Squared units such as those of CJK Compatibility are letters.
  if (code >= 0x3250 && code <= 0x33ff && /^[A-Za-zμ]+$/.test(text.normalize('NFKC'))) return letter
  const picture = /\p{Emoji_Presentation}/u.test(text)
  const pictograph = /\p{Extended_Pictographic}/u.test(text) && (code >= 0x1f000 || (code >= 0x2600 && code <= 0x27bf))
  return picture || pictograph ? emoji : other
}

const classes = Uint8Array.from({ length: last + 1 }, (_, code) => classOf(code))

/** Value of a decimal digit: Unicode has them in runs of ten. */
function digitValue(code) {
  let start = code
  while (/\p{Nd}/u.test(String.fromCodePoint(start - 1))) start--
  return (code - start) % 10
}

function simpleLower(text) {
  return [...text].map((one) => (one === 'İ' ? 'i' : one === 'ς' ? 'σ' : lowerOne(one))).join('')
}

function lowerOne(one) {
  const lower = one.toLowerCase()
  return [...lower].length === 1 ? lower : one
}

/** Marks that Arabic and Hebrew text may have or leave out, and the stroke that only stretches a word. */
const isOptional = (text) =>
  text === 'ـ' || (/\p{Mn}/u.test(text) && /[\p{Script_Extensions=Arabic}\p{Script_Extensions=Hebrew}]/u.test(text))

/** First step: compatibility forms, lower case, digits, apostrophes. Undefined: the character itself. */
function plainOf(code) {
  const kind = classes[code]
  if (kind === other || kind === regional || kind === emoji || kind === joiner) return undefined
  const text = String.fromCodePoint(code)
  if (kind === format || isOptional(text)) return ''
  if (kind === apostrophe) return `'`
  if (kind === period) return '.'
  if (kind === comma && code < 0xff00) return undefined
  if (/\p{Nd}/u.test(text)) return String(digitValue(code))
  // The compatibility forms of these are not what is written: Thai and Lao AM, Hangul that stands alone, and an Armenian letter.
  const kept = code === 0x0e33 || code === 0x0eb3 || text === 'և' || (code >= 0x3131 && code <= 0x318e)
  let plain = text
  for (let round = 0; round < 4; round++) plain = simpleLower(kept ? plain : plain.normalize('NFKC'))
  return plain.replace(/[ ʼ]/g, (one) => (one === ' ' ? '' : `'`))
}

/** Letters whose strokes and joins have no decomposition. */
const spelled = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ĸ: 'k',
  ŋ: 'n',
  ŧ: 't',
  ƀ: 'b',
  ƃ: 'b',
  ƈ: 'c',
  ƌ: 'd',
  ƒ: 'f',
  ƙ: 'k',
  ƚ: 'l',
  ƞ: 'n',
  ƥ: 'p',
  ƫ: 't',
  ƭ: 't',
  ƴ: 'y',
  ƶ: 'z',
  ǥ: 'g',
  ǝ: 'e',
  ə: 'e',
  ȡ: 'd',
  ȥ: 'z',
  ȴ: 'l',
  ȵ: 'n',
  ȶ: 't',
  ȷ: 'j',
  ȼ: 'c',
  ȿ: 's',
  ɀ: 'z',
  ɇ: 'e',
  ɉ: 'j',
  ɍ: 'r',
  ɏ: 'y',
  ɓ: 'b',
  ɖ: 'd',
  ɗ: 'd',
  ɨ: 'i',
  ɫ: 'l',
  ɲ: 'n',
  ɵ: 'o',
  ʉ: 'u',
  ʋ: 'v',
  ȣ: 'ou',
  ꜳ: 'aa',
  ꜵ: 'ao',
  ꜷ: 'au',
  ꜹ: 'av',
  ꜽ: 'ay',
  ꝏ: 'oo',
  ỻ: 'll',
  ỽ: 'v',
  ỿ: 'y',
  և: 'եւ',
  // Cyrillic letters that are written without their mark.
  ё: 'е',
  ѐ: 'е',
  ѝ: 'и',
}

const losesMarks = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}]/u
const voiced = new Set([0x3099, 0x309a])
/** Marks that do not distinguish words in their script. Vowel signs and the like belong to one script, so they stay. */
const isDropped = (code, text) =>
  classes[code] === mark &&
  !voiced.has(code) &&
  (/\p{Script=Inherited}/u.test(text) ||
    /\p{Me}/u.test(text) ||
    /\p{Emoji_Modifier}/u.test(text) ||
    (/\p{Mn}/u.test(text) && /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Syriac}]/u.test(text)))

/** Last step, after stemming: accents. */
function bareOf(code) {
  const text = String.fromCodePoint(code)
  if (isDropped(code, text)) return ''
  if (classes[code] === apostrophe || classes[code] === other) return undefined
  const bare = [...text.normalize('NFD')]
  const base = losesMarks.test(bare[0])
    ? bare.filter((one, at) => at === 0 || !isDropped(one.codePointAt(0), one))
    : [text]
  return base.map((one) => spelled[one] ?? one).join('')
}

/** Runs of characters with one class: the distance from the end of the last run, length, class. */
function classRuns() {
  const runs = []
  let end = 0
  for (let code = 0; code <= last; ) {
    const start = code
    while (code <= last && classes[code] === classes[start]) code++
    if (classes[start] === other) continue
    runs.push([start - end, code - start, classes[start]])
    end = code
  }
  return runs
}

/**
 * Runs of characters that are folded to one character each: distance from the end of the last run, difference to the first target, and if
 * there are several, their number, the step between them, and the step between targets.
 */
function mapRuns(map) {
  const single = map.filter(([, to]) => [...to].length === 1).map(([from, to]) => [from, to.codePointAt(0)])
  const runs = []
  let end = 0
  for (let at = 0; at < single.length; ) {
    const [from, to] = single[at]
    const step = at + 1 < single.length ? single[at + 1][0] - from : 1
    const stepTo = at + 1 < single.length ? single[at + 1][1] - to : 0
    let count = 1
    const usable = step <= 2 && stepTo >= 0 && stepTo <= 2
    while (
      usable &&
      at + count < single.length &&
      single[at + count][0] === from + count * step &&
      single[at + count][1] === to + count * stepTo
    )
      count++
    runs.push(count === 1 ? [from - end, to - from] : [from - end, to - from, count, step, stepTo])
    end = count === 1 ? from + 1 : from + count * step
    at += count
  }
  return runs
}

/** Runs of characters that are left out: distance from the end of the last run, length. */
function dropRuns(map) {
  const runs = []
  let end = 0
  for (const [code, to] of map) {
    if (to !== '') continue
    if (code === end && runs.length > 0) runs.at(-1)[1]++
    else runs.push([code - end, 1])
    end = code + 1
  }
  return runs
}

const mapTexts = (map) =>
  map
    .filter(([, to]) => [...to].length > 1)
    .map(([from, to]) => `${from.toString(36)}=${[...to].map((one) => one.codePointAt(0).toString(36)).join('+')}`)

function mapOf(fold) {
  const map = []
  for (let code = 0; code <= last; code++) {
    const to = classes[code] === other ? undefined : fold(code)
    if (to !== undefined && to !== String.fromCodePoint(code)) map.push([code, to])
  }
  return map
}

/** Lower-case characters that NFC composes of two: first, second, composed. Hangul is composed by its own rule. */
function compositions(plain) {
  const changed = new Set(plain.map(([from]) => from))
  const found = []
  for (let code = 0x80; code <= last; code++) {
    if (classes[code] === other || changed.has(code) || (code >= 0xac00 && code <= 0xd7a3)) continue
    const text = String.fromCodePoint(code)
    const parts = [...text.normalize('NFD')]
    if (parts.length < 2 || text.normalize('NFC') !== text) continue
    const first = [...parts.slice(0, -1).join('').normalize('NFC')]
    if (first.length === 1) found.push([first[0].codePointAt(0), parts.at(-1).codePointAt(0), code])
  }
  return found
}

function wrapped(items) {
  const lines = []
  let line = ''
  for (const item of items) {
    if (line.length + item.length > 130) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? item : ` ${item}`
  }
  lines.push(line)
  return lines.map((one) => `${one}\n`).join('')
}

const numbers = (rows) => wrapped(rows.map((row) => row.map((one) => one.toString(36)).join(',')))

function tables() {
  const plain = mapOf(plainOf)
  const bare = mapOf(bareOf)
  return `// Made by scripts/make-text-tables.mjs from the character data of Unicode ${unicodeVersion}. Do not edit. Numbers are in base 36.

/** Runs: distance from the end of the last one, length, class. */
export const classRuns = \`
${numbers(classRuns())}\`

/**
 * Runs: distance from the end of the last one, difference to the first target, and if there are several characters, their number, the
 * step between them, and the step between targets.
 */
export const plainRuns = \`
${numbers(mapRuns(plain))}\`

/** Characters that become several. */
export const plainTexts = \`
${wrapped(mapTexts(plain))}\`

/** Characters that are left out: distance from the end of the last run, length. */
export const plainDrops = \`
${numbers(dropRuns(plain))}\`

export const bareRuns = \`
${numbers(mapRuns(bare))}\`

export const bareTexts = \`
${wrapped(mapTexts(bare))}\`

export const bareDrops = \`
${numbers(dropRuns(bare))}\`

/** First character, second, composed. */
export const compositions = \`
${numbers(compositions(plain))}\`
`
}

if (process.versions.unicode !== unicodeVersion || !process.versions.node.startsWith('22.')) {
  throw new Error(
    `the tables have Unicode ${unicodeVersion} as Node 22 has it; this is Node ${process.versions.node} with ${process.versions.unicode}`,
  )
}
const made = tables()
if (process.argv[2] !== '--check') writeFileSync(target, made)
else if (readFileSync(target, 'utf8') !== made)
  throw new Error('src/text/unicode-tables.ts is not what this script makes')
