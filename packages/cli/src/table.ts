// Tables as lines of text. Every character of a cell is visible.
import { visible, widthOf } from './visible-text.ts'

export interface TableOptions {
  /** Columns of numbers, which end at one place. */
  readonly numbers?: readonly number[]
}

/** Lines of a table, whose first row is its head. */
export function aligned(rows: readonly (readonly string[])[], { numbers = [] }: TableOptions = {}): string[] {
  const shown = rows.map((row) => row.map((cell) => visible(cell)))
  const widths = (shown[0] ?? []).map((_, i) =>
    shown.reduce((widest, row) => Math.max(widest, widthOf(row[i] ?? '')), 0),
  )
  return shown.map((row) =>
    row
      .map((cell, i) => {
        const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell)))
        return numbers.includes(i) ? `${space}${cell}` : `${cell}${space}`
      })
      .join('  ')
      .trimEnd(),
  )
}
