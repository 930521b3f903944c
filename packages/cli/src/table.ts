// Tables as lines of text.

/** Lines of a table, whose first row is its head. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => rows.reduce((widest, row) => Math.max(widest, row[i]?.length ?? 0), 0))
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
