// Characters that change the direction or the place of other text, or that cannot be seen, as escapes. A text with escapes can stand next to
// the words of the page where no element isolates it: in labels, titles, and JSON.

/** Controls, and characters of formats such as those of direction. Line ends stay, and what joins or divides letters. */
const hidden = /(?![\t\n\r\u00ad\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** As in JSON: U+202E is `\u202e`, so that JSON with escapes is the same JSON. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (char) => char.split('').map(escapeOf).join(''))
}

/** For a name, which stands on one line: line ends and tabs are escapes, too. */
export function visibleName(text: string): string {
  return visible(text).replaceAll(/[\t\n\r]/g, (char) => JSON.stringify(char).slice(1, -1))
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** For a label of one line that has a text and words of the page: the text is isolated by characters, because no element can do it. */
export function isolated(text: string): string {
  return `\u2068${visible(text)}\u2069`
}
