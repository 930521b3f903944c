// Where words begin and end: the parts of Unicode's annex 29 that people expect, and some rules of our own.
// - Letters and digits with their marks are words: `mp3`, `2nd`.
// - An apostrophe joins letters (`don't`), a period or comma joins digits (`3.14`, `1,000`), and underscores join both (`snake_case`).
// - Periods join single letters (`U.S.`), but not longer ones, so that host names, file names, and addresses are found by their parts.
// - Everything else separates: spaces, hyphens, symbols, and characters that the tables do not know.
// - A run of characters of scripts without spaces between words is one segment, which the analyzer splits into bigrams.
// - An emoji with what modifies and joins it is a segment. So is a flag.
import { CharacterClass, classOf, codeAt, unitsOf } from './characters.ts'

const { letter, digit, mark, format, bigram, apostrophe, middle, period, comma, underscore, emoji, regional, joiner } =
  CharacterClass

const zeroWidthJoiner = 0x200d

export const SegmentKind = { word: 1, initials: 2, bigramRun: 3, picture: 4 } as const
export type SegmentKind = (typeof SegmentKind)[keyof typeof SegmentKind]

/** Calls `visit` for each segment, in order, with UTF-16 offsets. */
export function forEachSegment(text: string, visit: (kind: SegmentKind, start: number, end: number) => void): void {
  for (let at = 0; at < text.length; ) {
    const code = codeAt(text, at)
    const kind = classOf(code)
    const start = at
    at += unitsOf(code)
    if (kind === letter || kind === digit) at = visitWord(text, start, visit)
    else if (kind === bigram) {
      at = bigramEnd(text, at)
      visit(SegmentKind.bigramRun, start, at)
    } else if (kind === emoji || kind === regional) {
      at = kind === emoji ? emojiEnd(text, at) : flagEnd(text, at)
      visit(SegmentKind.picture, start, at)
    }
  }
}

/** The offset after the marks and invisible characters that belong to what is before `start`. */
export function marksEnd(text: string, start: number): number {
  let end = start
  while (end < text.length) {
    const code = codeAt(text, end)
    const kind = classOf(code)
    if (kind !== mark && kind !== format && kind !== joiner) break
    end += unitsOf(code)
  }
  return end
}

/** Visits the word at `start` and returns its end. */
function visitWord(
  text: string,
  start: number,
  visit: (kind: SegmentKind, start: number, end: number) => void,
): number {
  let end = start
  let lastKind = 0
  /** Number of letters and digits since the last period that joins. */
  let characters = 0
  let initials = false
  for (;;) {
    const unit = text.charCodeAt(end)
    if (isAsciiWord(unit)) {
      end++
      lastKind = unit > 0x39 ? letter : digit
      characters++
      continue
    }
    const code = codeAt(text, end)
    const kind = end < text.length ? classOf(code) : 0
    if (kind === letter || kind === digit) {
      end += unitsOf(code)
      lastKind = kind
      characters++
      continue
    }
    if (kind === mark || kind === format || kind === joiner) {
      end += unitsOf(code)
      continue
    }
    const next = end + 1
    if (kind === apostrophe || kind === middle) {
      if (lastKind !== letter || kindAt(text, next) !== letter) break
    } else if (kind === period && lastKind === letter) {
      if (characters !== 1 || !isSingleLetter(text, next)) break
      initials = true
      characters = 0
    } else if (kind === period || kind === comma) {
      if (lastKind !== digit || kindAt(text, next) !== digit) break
    } else if (kind === underscore) {
      const after = underscoresEnd(text, next)
      const nextKind = kindAt(text, after)
      if (nextKind !== letter && nextKind !== digit) break
      end = after
      continue
    } else break
    end = next
  }
  visit(initials ? SegmentKind.initials : SegmentKind.word, start, end)
  return end
}

/** False for NaN, which is the unit after the end. */
function isAsciiWord(unit: number): boolean {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x30 && unit <= 0x39)
}

function kindAt(text: string, at: number): number {
  return at < text.length ? classOf(codeAt(text, at)) : CharacterClass.other
}

function isSingleLetter(text: string, at: number): boolean {
  if (kindAt(text, at) !== letter) return false
  const next = marksEnd(text, at + unitsOf(codeAt(text, at)))
  const kind = kindAt(text, next)
  return kind !== letter && kind !== digit && kind !== underscore && kind !== apostrophe && kind !== middle
}

function underscoresEnd(text: string, start: number): number {
  let end = start
  while (kindAt(text, end) === underscore) end++
  return end
}

/** The offset after a run of bigram characters, the first of which ends at `start`. */
function bigramEnd(text: string, start: number): number {
  let end = marksEnd(text, start)
  while (kindAt(text, end) === bigram) end = marksEnd(text, end + unitsOf(codeAt(text, end)))
  return end
}

/** The offset after an emoji that ends at `start`, what modifies it, and the emoji that are joined to it. */
function emojiEnd(text: string, start: number): number {
  let end = marksEnd(text, start)
  while (text.charCodeAt(end - 1) === zeroWidthJoiner && kindAt(text, end) === emoji) {
    end = marksEnd(text, end + unitsOf(codeAt(text, end)))
  }
  return end
}

function flagEnd(text: string, at: number): number {
  return marksEnd(text, kindAt(text, at) === regional ? at + 2 : at)
}
