// Merges the vectors that a provider made with those that the caller gave.
import type { DenseColumn } from '../model/event.ts'
import { vectorForm } from '../model/vector-form.ts'

/** The columns with the rows of `added`, in the order of fields and positions. No object has a row in both. */
export function mergeDense(
  columns: readonly DenseColumn[],
  added: DenseColumn,
  dimension: number,
): readonly DenseColumn[] {
  const given = columns.find(({ field }) => field === added.field)
  const merged = given === undefined ? added : mergedRows(given, added, dimension)
  return [...columns.filter((column) => column !== given), merged].sort((a, b) => a.field - b.field)
}

function mergedRows(a: DenseColumn, b: DenseColumn, dimension: number): DenseColumn {
  const rows = [...rowsOf(a), ...rowsOf(b)].sort((one, other) => one.position - other.position)
  const vectors = new Float32Array(rows.length * dimension)
  const norms = new Float32Array(rows.length)
  const forms = a.forms || b.forms ? new Uint8Array(rows.length) : undefined
  for (const [place, { column, row }] of rows.entries()) {
    vectors.set(column.vectors.subarray(row * dimension, (row + 1) * dimension), place * dimension)
    norms[place] = column.norms[row] as number
    if (forms) forms[place] = column.forms?.[row] ?? vectorForm.unit
  }
  const objects = Uint32Array.from(rows, ({ position }) => position)
  return { field: a.field, objects, vectors, norms, ...(forms && { forms }) }
}

function rowsOf(
  column: DenseColumn,
): { readonly column: DenseColumn; readonly row: number; readonly position: number }[] {
  return Array.from(column.objects, (position, row) => ({ column, row, position }))
}
