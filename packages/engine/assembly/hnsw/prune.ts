// Which candidates become neighbours: nearest first, and only those nearer to the node than to any already chosen, so
// that links point in different directions.
import { rowOf } from '../layout'
import { beat, chosen, rowCode } from '../scratch'
import { anyNearer, setRowAsQuery } from '../distance/walk'
import { idOf, keyOfEntry } from './pool'

/** Chooses at most `most` of the `count` sorted entries at `from` into the chosen list. Replaces the query. */
export function chooseDiverse(from: usize, count: i32, most: i32): i32 {
  let n: i32 = 0
  for (let i: i32 = 0; i < count && n < most; ++i) {
    beat()
    const entry = load<u64>(from + (<usize>i << 3))
    const id = idOf(entry)
    if (n > 0) {
      setRowAsQuery(rowOf(id), rowCode)
      if (anyNearer(chosen, n, keyOfEntry(entry))) continue
    }
    store<u32>(chosen + (<usize>n << 2), id)
    n++
  }
  return n
}
