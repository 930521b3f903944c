// Stored text on a terminal. Ids, names, and values can have characters that move the cursor, change settings of the terminal, or turn the
// direction of the text that follows. These are shown as the escapes of JSON.

/** Control characters, marks of direction, characters without width, separators of lines, and halves of surrogate pairs. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]/gu
/** The same, without what ends a line, and without tabs. */
const unsafeInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]/gu

/** One line of text in which every character is visible. */
export function visible(text: string): string {
  return text.replaceAll(unsafe, escaped)
}

/** Lines of text in which every other character is visible. JSON has the same value as before. */
export function visibleLines(text: string): string {
  return text.replaceAll(unsafeInLines, escaped)
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}

/** East Asian wide and full-width characters, and emoji: two cells of a terminal. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const withoutWidth = /[\p{Mn}\p{Me}]/u

/** Cells of a terminal that visible text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) width += withoutWidth.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

/** The beginning of visible text that is longer, with three dots. */
export function cut(text: string, cellsMax: number): string {
  if (text.length <= cellsMax && widthOf(text) <= cellsMax) return text
  let [kept, width] = ['', 0]
  for (const character of text) {
    width += widthOf(character)
    if (width > cellsMax - 3) break
    kept += character
  }
  return `${kept}...`
}
