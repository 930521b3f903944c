// Approximate tokens: a word of up to 24 characters, a punctuation mark, or a character of a script without spaces. Models count
// differently, by half as much again for English. The classes are ranges of our own, so that the client for Python counts the same.

/** Part of a text: offsets in UTF-16 units, and its tokens. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly tokens: number
}

export const spaces = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200b\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'
const marks =
  '\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u064b-\\u065f\\u0e31\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u0eb1\\u0eb4-\\u0ebc\\u0ec8-\\u0ece\\u102b-\\u103e\\u17b4-\\u17d3\\u200c\\u200d\\u20d0-\\u20ff\\u3099\\u309a\\ufe00-\\ufe0f'
const punctuation =
  '!-\\/:-@\\[-\\^`{-~\\xa1-\\xa9\\xab-\\xb4\\xb6-\\xb9\\xbb-\\xbf\\xd7\\xf7\\u055a-\\u055f\\u0589\\u058a\\u05be\\u05c0\\u05c3\\u060c\\u061b\\u061f\\u066a-\\u066d\\u06d4\\u0964\\u0965\\u1361-\\u1368\\u2010-\\u2027\\u2030-\\u205e\\u2190-\\u23ff\\u2500-\\u25ff\\u3001-\\u3003\\u3008-\\u3020\\u3030\\uff01-\\uff0f\\uff1a-\\uff20\\uff3b-\\uff40\\uff5b-\\uff65'
const single =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u2e80-\\u2fff\\u3005-\\u3007\\u3021-\\u302f\\u3031-\\u3096\\u309b-\\u31ff\\u3400-\\u9fff\\ua000-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}'

const word = `[^${spaces}${marks}${punctuation}${single}]`
const token = new RegExp(`${word}[^${spaces}${punctuation}${single}]{0,23}|[^${spaces}][${marks}]{0,23}`, 'gu')

/** The tokens between two offsets, in order. */
export function tokensOf(text: string, start: number, end: number): Span[] {
  const spans: Span[] = []
  for (const { 0: found, index } of text.slice(start, end).matchAll(token)) {
    spans.push({ start: start + index, end: start + index + found.length, tokens: 1 })
  }
  return spans
}

/** The span between two offsets, with its tokens counted. */
export function spanOf(text: string, start: number, end: number): Span {
  return { start, end, tokens: text.slice(start, end).match(token)?.length ?? 0 }
}

const leadingSpaces = new RegExp(`^[${spaces}]+`, 'u')
const space = new RegExp(`[${spaces}]`, 'u')

/** The span without white space at its ends, or undefined if there is nothing else. */
export function trimmedSpan(text: string, start: number, end: number): Span | undefined {
  const first = start + (leadingSpaces.exec(text.slice(start, end))?.[0].length ?? 0)
  return endTrimmedSpan(text, first, end)
}

/** The same without white space at its end only: the indent of its first line stays. */
export function endTrimmedSpan(text: string, start: number, end: number): Span | undefined {
  let last = end
  while (last > start && space.test(text.charAt(last - 1))) last--
  return last === start ? undefined : spanOf(text, start, last)
}
