// Places the collections of a tree of branches in rows: each below its parent, one column further right.
import type { BranchInfo } from '../../api/past.ts'

export interface BranchRow {
  readonly branch: BranchInfo
  readonly column: number
  /** The row of the parent; undefined in the first collection. */
  readonly parentRow: number | undefined
}

/** Depth first, siblings in the order of creation. */
export function rowsOf(branches: readonly BranchInfo[]): readonly BranchRow[] {
  const ids = new Set(branches.map(({ id }) => id))
  const rows: BranchRow[] = []
  // A list instead of recursion: a chain of branches may be long.
  const waiting: BranchRow[] = branches
    .filter(({ parentId }) => parentId === undefined || !ids.has(parentId))
    .map((branch) => ({ branch, column: 0, parentRow: undefined }))
    .reverse()
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    const parentRow = rows.length
    const { id } = row.branch
    const { column } = row
    rows.push(row)
    const below = branches.filter(({ parentId }) => parentId === id).reverse()
    waiting.push(...below.map((branch) => ({ branch, column: column + 1, parentRow })))
  }
  return rows
}
