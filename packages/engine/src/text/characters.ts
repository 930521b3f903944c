// What kind of character a code point is, and what it is folded to, from tables of ours: every Node.js gives the same answer, and no answer
// changes without a new version of the analyzer. Characters that the tables do not know separate words.
import {
  bareDrops,
  bareRuns,
  bareTexts,
  classRuns,
  compositions,
  plainDrops,
  plainRuns,
  plainTexts,
} from './unicode-tables.ts'

/** Numbers as scripts/make-text-tables.mjs writes them. */
export const CharacterClass = {
  /** Spaces, punctuation, symbols, and everything unknown: separates words. */
  other: 0,
  letter: 1,
  digit: 2,
  /** Belongs to the character before it. */
  mark: 3,
  /** Invisible: soft hyphens, directions, variation selectors. Belongs to the character before it, and is left out of terms. */
  format: 4,
  /** Of a script that is indexed as bigrams: Han, Kana, Hangul, Thai, and others without spaces between words. */
  bigram: 5,
  /** Joins letters. */
  apostrophe: 6,
  /** Joins letters, and stays as it is. */
  middle: 7,
  /** Joins digits, and single letters. */
  period: 8,
  /** Joins digits. */
  comma: 9,
  /** Joins letters and digits. */
  underscore: 10,
  emoji: 11,
  /** Two of them are a flag. */
  regional: 12,
  /** Joins emoji; elsewhere like `format`. */
  joiner: 13,
} as const

const classBits = 0x0f
const hasPlain = 0x10
const hasBare = 0x20
const planeSize = 0x10000

/** Class and flags of each character of the first plane. */
const firstPlane = new Uint8Array(planeSize)
/** Runs of the other planes: start, end, class. */
const otherPlanes: (readonly [number, number, number])[] = []
const plainMap = new Map<number, string>()
const bareMap = new Map<number, string>()
/** By first character and second: see `compositionKey`. */
const composed = new Map<number, number>()

readClasses()
readFolds(plainMap, { runs: plainRuns, texts: plainTexts, drops: plainDrops, flag: hasPlain })
readFolds(bareMap, { runs: bareRuns, texts: bareTexts, drops: bareDrops, flag: hasBare })
for (const [first, second, result] of rowsOf(compositions)) {
  composed.set(compositionKey(first as number, second as number), result as number)
}

export function classOf(code: number): number {
  if (code < planeSize) return (firstPlane[code] as number) & classBits
  let low = 0
  let high = otherPlanes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const [start, end, kind] = otherPlanes[middle] as readonly [number, number, number]
    if (code < start) high = middle
    else if (code >= end) low = middle + 1
    else return kind
  }
  return CharacterClass.other
}

/** The code point at an offset, or the unit there if it is half of a pair of surrogates without the other half. */
export function codeAt(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0xd800 || unit > 0xdbff || at + 1 === text.length) return unit
  const next = text.charCodeAt(at + 1)
  return next < 0xdc00 || next > 0xdfff ? unit : (unit - 0xd800) * 0x400 + (next - 0xdc00) + planeSize
}

export function unitsOf(code: number): number {
  return code < planeSize ? 1 : 2
}

/** True if neither step of folding changes this unit. */
export function isPlainUnit(unit: number): boolean {
  return ((firstPlane[unit] as number) & (hasPlain | hasBare)) === 0
}

/** Lower case without compatibility forms, or undefined if the character is that already. */
export function plainCharacter(code: number): string | undefined {
  if (code < planeSize && ((firstPlane[code] as number) & hasPlain) === 0) return undefined
  return plainMap.get(code)
}

/** The character without accents, or undefined if it has none. */
export function bareCharacter(code: number): string | undefined {
  if (code < planeSize && ((firstPlane[code] as number) & hasBare) === 0) return undefined
  return bareMap.get(code)
}

/** One character for two, as Unicode composes them, or undefined. */
export function compose(first: number, second: number): number | undefined {
  const consonants = 0x1100
  const vowels = 0x1161
  const finals = 0x11a7
  const syllables = 0xac00
  if (first >= consonants && first < consonants + 19 && second >= vowels && second < vowels + 21) {
    return syllables + ((first - consonants) * 21 + (second - vowels)) * 28
  }
  const isOpenSyllable = first >= syllables && first < syllables + 11_172 && (first - syllables) % 28 === 0
  if (isOpenSyllable && second > finals && second < finals + 28) return first + second - finals
  return composed.get(compositionKey(first, second))
}

function compositionKey(first: number, second: number): number {
  return first * 0x200000 + second
}

function readClasses(): void {
  let end = 0
  for (const [gap, length, kind] of rowsOf(classRuns)) {
    const start = end + (gap as number)
    end = start + (length as number)
    if (start < planeSize) firstPlane.fill(kind as number, start, Math.min(end, planeSize))
    if (end > planeSize) otherPlanes.push([Math.max(start, planeSize), end, kind as number])
  }
}

interface FoldTexts {
  readonly runs: string
  readonly texts: string
  readonly drops: string
  readonly flag: number
}

function readFolds(map: Map<number, string>, { runs, texts, drops, flag }: FoldTexts): void {
  const add = (code: number, target: string) => {
    map.set(code, target)
    if (code < planeSize) firstPlane[code] = (firstPlane[code] as number) | flag
  }
  let end = 0
  for (const [gap = 0, difference = 0, count = 1, step = 1, targetStep = 0] of rowsOf(runs)) {
    const start = end + gap
    for (let index = 0; index < count; index++) {
      add(start + index * step, String.fromCodePoint(start + difference + index * targetStep))
    }
    end = start + count * step
  }
  end = 0
  for (const [gap = 0, length = 0] of rowsOf(drops)) {
    for (let code = end + gap; code < end + gap + length; code++) add(code, '')
    end += gap + length
  }
  for (const item of texts.trim().split(/\s/)) {
    const [code = '', target = ''] = item.split('=')
    const codes = target.split('+').map((one) => Number.parseInt(one, 36))
    add(Number.parseInt(code, 36), String.fromCodePoint(...codes))
  }
}

function rowsOf(table: string): number[][] {
  return table
    .trim()
    .split(/\s/)
    .map((row) => row.split(',').map((one) => Number.parseInt(one, 36)))
}
