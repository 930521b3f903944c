// Cuts texts where no character and no marked word breaks.
import type { Highlight } from '../api/search.ts'

export interface Piece {
  readonly text: string
  readonly marked: boolean
  readonly start: number
}

/** The fragment in pieces, in order. Ranges outside it, or inside another one, mark nothing. */
export function piecesOf(fragment: string, ranges: Highlight['ranges']): readonly Piece[] {
  const pieces: Piece[] = []
  let end = 0
  const add = (start: number, to: number, marked: boolean) => {
    if (to > start) pieces.push({ text: fragment.slice(start, to), marked, start })
  }
  for (const [from, to] of ranges) {
    if (from < end || to <= from || to > fragment.length) continue
    add(end, from, false)
    add(from, to, true)
    end = to
  }
  add(end, fragment.length, false)
  return pieces
}

/** At most `max` characters; never half of a character. */
export function beginningOf(text: string, max: number): string {
  if (text.length <= max) return text
  const isHalf = (text.charCodeAt(max - 1) & 0xfc00) === 0xd800
  return text.slice(0, isHalf ? max - 1 : max)
}
