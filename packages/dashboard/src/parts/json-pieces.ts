// JSON in pieces, so that each text in it can be isolated from the braces, colons, and numbers around it.
import { visible } from './visible.ts'

export interface JsonPiece {
  readonly text: string
  /** Whether it is the content of a string or of a key. */
  readonly isText: boolean
}

/** JSON on one line, with at most `lengthMax` characters and a mark where it is cut. */
export function jsonPieces(value: unknown, lengthMax = 160): readonly JsonPiece[] {
  const pieces: JsonPiece[] = []
  let room = lengthMax
  let mark = ''
  /** Whether there is room for more. */
  const add = (text: string, isText: boolean): boolean => {
    if (room <= 0) return false
    const fits = text.length <= room
    const last = pieces.at(-1)
    const shown = fits ? text : `${text.slice(0, Math.max(0, room - 1))}…`
    if (!isText && last !== undefined && !last.isText) pieces[pieces.length - 1] = { text: last.text + shown, isText }
    else if (shown !== '') pieces.push({ text: shown, isText })
    room = fits ? room - text.length : 0
    return fits
  }
  const addString = (text: string): boolean =>
    add('"', false) && add(visible(JSON.stringify(text).slice(1, -1)), true) && add('"', false)
  const addList = (open: string, close: string, items: readonly (() => boolean)[]): boolean =>
    add(open, false) && items.every((item, i) => (i === 0 || add(',', false)) && item()) && add(close, false)
  const addValue = (value: unknown): boolean => {
    if (typeof value === 'string') return addString(value)
    if (Array.isArray(value)) {
      return addList(
        '[',
        ']',
        value.map((item) => () => addValue(item)),
      )
    }
    if (typeof value !== 'object' || value === null) return add(JSON.stringify(value) ?? '', false)
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    const items = entries.map(
      ([key, item]) =>
        () =>
          addString(key) && add(':', false) && addValue(item),
    )
    return addList('{', '}', items)
  }
  if (!addValue(value) && pieces.at(-1)?.text.endsWith('…') === false) mark = '…'
  return mark === '' ? pieces : [...pieces, { text: mark, isText: false }]
}
