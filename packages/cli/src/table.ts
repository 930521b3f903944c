// Tables as lines of text. Every character of a cell is visible.
import { cut, visible, widthOf } from './visible-text.ts'

export interface TableOptions {
  /** Columns of numbers, which end at one place. */
  readonly numbers?: readonly number[]
  /** Cells of a terminal: the widest texts are shortened so that lines fit. */
  readonly width?: number | undefined
}

const gap = 2
/** Less of a text says nothing. */
const cellsMin = 8

/** Lines of a table, whose first row is its head. */
export function aligned(rows: readonly (readonly string[])[], { numbers = [], width }: TableOptions = {}): string[] {
  const shown = rows.map((row) => row.map((cell) => visible(cell)))
  const needed = (shown[0] ?? []).map((_, i) =>
    shown.reduce((widest, row) => Math.max(widest, widthOf(row[i] ?? '')), 0),
  )
  const widths = width === undefined ? needed : fitting(needed, { numbers, width })
  const lines = shown.map((row) =>
    row
      .map((whole, i) => {
        const cell = cut(whole, widths[i] ?? 0)
        const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell)))
        return numbers.includes(i) ? `${space}${cell}` : `${cell}${space}`
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  )
  return width === undefined ? lines : lines.map((line) => cut(line, width))
}

/** Takes cells from the widest text, one after another, and from the first one last: it names the row. */
function fitting(
  needed: readonly number[],
  { numbers, width }: { readonly numbers: readonly number[]; readonly width: number },
): readonly number[] {
  const widths = [...needed]
  const of = (i: number) => widths[i] ?? 0
  const [name = 0, ...others] = Array.from(widths.keys()).filter((i) => !numbers.includes(i))
  let excess = widths.reduce((sum, cells) => sum + cells + gap, -gap) - width
  const shorten = (columns: readonly number[], cellsLeft: number) => {
    for (; excess > 0; excess -= 1) {
      const widest = columns.reduce((most, i) => (of(i) > of(most) ? i : most), columns[0] ?? name)
      if (of(widest) <= cellsLeft) return
      widths[widest] = of(widest) - 1
    }
  }
  if (others.length > 0) shorten(others, cellsMin)
  shorten([name], Math.max(cellsMin, Math.floor(width / 2)))
  return widths
}
