// Some of the objects of an upsert, in the same order, with their values in every field.
import type { DenseColumn, MultiColumn, SparseColumn, TextColumn } from '../model/event.ts'
import { chooseCounts } from '../text/counted-text.ts'
import type { ObjectColumns } from './objects.ts'

/** The objects at these positions, which ascend. */
export function chooseObjects(columns: ObjectColumns, positions: readonly number[]): ObjectColumns {
  const { ids, metas, filters, dense, sparse, multi, text } = columns
  const places = new Map(positions.map((position, place) => [position, place]))
  return {
    ids: positions.map((position) => ids[position] as string),
    metas: positions.map((position) => metas[position] as Uint8Array),
    filters: positions.map((position) => filters[position] as string),
    dense: dense.map((column) => chooseDense(column, places)).filter(hasObjects),
    sparse: sparse.map((column) => chooseSparse(column, places)).filter(hasObjects),
    multi: multi.map((column) => chooseMulti(column, places)).filter(hasObjects),
    text: text.map((column) => chooseText(column, places)).filter(hasObjects),
  }
}

function hasObjects({ objects }: { readonly objects: Uint32Array }): boolean {
  return objects.length > 0
}

type Places = ReadonlyMap<number, number>

/** The rows of a column whose objects are chosen, and their places among the chosen. */
function rowsOf(positions: Uint32Array, places: Places): { readonly rows: number[]; readonly objects: Uint32Array } {
  const rows = [...positions.keys()].filter((row) => places.has(positions[row] as number))
  return { rows, objects: Uint32Array.from(rows, (row) => places.get(positions[row] as number) as number) }
}

function chooseDense(column: DenseColumn, places: Places): DenseColumn {
  const { rows, objects } = rowsOf(column.objects, places)
  const length = column.vectors.length / column.objects.length
  const { forms } = column
  return {
    field: column.field,
    objects,
    vectors: runsOf(column.vectors, rows, (row) => [row * length, (row + 1) * length]),
    norms: Float32Array.from(rows, (row) => column.norms[row] as number),
    ...(forms && { forms: Uint8Array.from(rows, (row) => forms[row] as number) }),
  }
}

function chooseSparse(column: SparseColumn, places: Places): SparseColumn {
  const { rows, objects } = rowsOf(column.objects, places)
  const ends = endsOf(column.counts, 1)
  const runOf = (row: number): Run => [ends[row] as number, ends[row + 1] as number]
  return {
    field: column.field,
    objects,
    counts: Uint32Array.from(rows, (row) => column.counts[row] as number),
    indices: runsOf(column.indices, rows, runOf),
    values: runsOf(column.values, rows, runOf),
  }
}

function chooseMulti(column: MultiColumn, places: Places): MultiColumn {
  const { rows, objects } = rowsOf(column.objects, places)
  const members = column.counts.reduce((sum, count) => sum + count, 0)
  const ends = endsOf(column.counts, column.vectors.length / members)
  return {
    field: column.field,
    objects,
    counts: Uint32Array.from(rows, (row) => column.counts[row] as number),
    vectors: runsOf(column.vectors, rows, (row) => [ends[row] as number, ends[row + 1] as number]),
  }
}

function chooseText({ field, objects: having, texts }: TextColumn, places: Places): TextColumn {
  const { rows, objects } = rowsOf(having, places)
  const chosen = rows.map((row) => texts[row] as string)
  chooseCounts(texts, rows, chosen)
  return { field, objects, texts: chosen }
}

/** From and to. */
type Run = readonly [number, number]

/** Where the values of each row begin, and where the last one ends; each of the `counts` takes `length` values. */
function endsOf(counts: Uint32Array, length: number): number[] {
  const ends = [0]
  for (const count of counts) ends.push((ends.at(-1) as number) + count * length)
  return ends
}

function runsOf<T extends Float32Array | Uint32Array>(
  from: T,
  rows: readonly number[],
  runOf: (row: number) => Run,
): T {
  const total = rows.reduce((sum, row) => sum + runOf(row)[1] - runOf(row)[0], 0)
  // The constructor of a typed array makes arrays of its type.
  const chosen = new (from.constructor as new (length: number) => T)(total)
  let end = 0
  for (const row of rows) {
    const run = from.subarray(...runOf(row)) as T
    chosen.set(run, end)
    end += run.length
  }
  return chosen
}
