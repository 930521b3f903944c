// Tables as lines of text. Every character of a cell is visible.
import { cut, visible, widthOf } from './visible-text.ts'

export interface TableOptions {
  /** Columns of numbers, which end at one place. */
  readonly numbers?: readonly number[]
  /** Columns of texts that say nothing when they are shortened, such as times. */
  readonly whole?: readonly number[]
  /** Cells of a terminal: the widest texts are shortened so that lines fit, and the last columns are left out where that is not enough. */
  readonly width?: number | undefined
}

const gap = 2
/** Columns are not cut to fewer characters than this. */
const cellsMin = 8
/** The name of a row, and what it is about. */
const columnsMin = 2

/** Lines of a table, whose first row is its head. */
export function aligned(
  rows: readonly (readonly string[])[],
  { numbers = [], whole = [], width }: TableOptions = {},
): string[] {
  const shown = rows.map((row) => row.map((cell) => visible(cell)))
  const needed = (shown[0] ?? []).map((_, i) =>
    shown.reduce((widest, row) => Math.max(widest, widthOf(row[i] ?? '')), 0),
  )
  const widths = width === undefined ? needed : fitting(needed, { fixed: [...numbers, ...whole], width })
  const lines = shown.map((row) =>
    row
      .slice(0, widths.length)
      .map((text, i) => {
        const cell = cut(text, widths[i] ?? 0)
        const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell)))
        return numbers.includes(i) ? `${space}${cell}` : `${cell}${space}`
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  )
  return width === undefined ? lines : lines.map((line) => cut(line, width))
}

/**
 * Takes cells from the widest text, one after another, and from the first one last: it names the row. Columns that are not to be shortened
 * are whole or left out: half a number is another number.
 */
function fitting(
  needed: readonly number[],
  { fixed, width }: { readonly fixed: readonly number[]; readonly width: number },
): readonly number[] {
  const texts = Array.from(needed.keys()).filter((i) => !fixed.includes(i))
  const [name = 0] = texts
  const nameMin = Math.max(cellsMin, Math.floor(width / 2))
  const leastOf = (cells: number, i: number) =>
    Math.min(cells, i === name ? nameMin : texts.includes(i) ? cellsMin : cells)
  const least = needed.map(leastOf)
  let columns = needed.length
  while (columns > columnsMin && lineOf(least.slice(0, columns)) > width) columns -= 1
  const widths = needed.slice(0, columns)
  let excess = lineOf(widths) - width
  const shorten = (among: readonly number[], cellsLeft: number) => {
    const shown = among.filter((i) => i < columns)
    for (; excess > 0 && shown.length > 0; excess -= 1) {
      const widest = shown.reduce((most, i) => ((widths[i] ?? 0) > (widths[most] ?? 0) ? i : most), shown[0] ?? name)
      if ((widths[widest] ?? 0) <= cellsLeft) return
      widths[widest] = (widths[widest] ?? 0) - 1
    }
  }
  shorten(
    texts.filter((i) => i !== name),
    cellsMin,
  )
  shorten([name], cellsMin)
  return widths
}

function lineOf(widths: readonly number[]): number {
  return widths.reduce((sum, cells) => sum + cells + gap, -gap)
}
