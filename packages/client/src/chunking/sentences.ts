// Sentences by their punctuation, without a dictionary: a period after an initial, after a usual abbreviation, or before a small letter
// does not end one. Blank lines and items of lists begin a new one.
import { type Span, spaces, trimmedSpan } from './tokens.ts'

const boundary = new RegExp(
  [
    '\\n[ \\t\\r]*\\n',
    '\\n(?=[ \\t]*(?:[-*+\\u2022|]|[0-9]{1,3}[.)])[ \\t])',
    '[.!?\\u2026]+["\'\\u201d\\u2019\\xbb)\\]]*',
    '[\\u3002\\uff01\\uff1f\\uff61\\u0964]+["\\u201d\\u2019\\u300d\\u300f\\uff09)\\]]*',
  ].join('|'),
  'gu',
)
/** What follows punctuation within a sentence: no space, or a small letter. */
const goesOn = new RegExp(`^(?:[^${spaces}]|[${spaces}]+[a-z])`, 'u')
const abbreviations = new Set([
  'mr',
  'mrs',
  'ms',
  'dr',
  'prof',
  'st',
  'sr',
  'jr',
  'vs',
  'fig',
  'vol',
  'pp',
  'approx',
  'inc',
  'ltd',
  'co',
  'al',
])

export function sentencesOf(text: string, start: number, end: number): Span[] {
  const part = text.slice(start, end)
  const spans: Span[] = []
  let from = 0
  const add = (to: number) => {
    const span = trimmedSpan(text, start + from, start + to)
    if (span !== undefined) spans.push(span)
    from = to
  }
  for (const { 0: found, index } of part.matchAll(boundary)) {
    if (endsSentence(part, index, found)) add(index + found.length)
  }
  add(part.length)
  return spans
}

function endsSentence(text: string, index: number, found: string): boolean {
  if (!/^[.!?\u2026]/.test(found)) return true
  const after = index + found.length
  if (goesOn.test(text.slice(after, after + 20))) return false
  if (found !== '.') return true
  const before = text.slice(Math.max(0, index - 12), index)
  const word = /[A-Za-z]+$/.exec(before)?.[0]
  if (word !== undefined) return word.length > 1 && !abbreviations.has(word.toLowerCase())
  // The number of an item of a list.
  return !/(?:^|\n)[ \t]*[0-9]{1,3}$/.test(index > 12 ? `x${before}` : before)
}
