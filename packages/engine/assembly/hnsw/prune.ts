// Which candidates become neighbors: nearest first, and only those nearer to the node than to any already chosen, so
// that links point in different directions.
import { rowOf } from '../layout'
import { beat, chosen } from '../scratch'
import { isNearAny, putAmong } from '../distance/among'
import { idOf, keyOfEntry } from './pool'

/** Chooses at most `most` of the `count` sorted entries at `from` into the chosen list. */
export function chooseDiverse(from: usize, count: i32, most: i32): i32 {
  let n: i32 = 0
  for (let i: i32 = 0; i < count && n < most; ++i) {
    beat()
    const entry = load<u64>(from + (<usize>i << 3))
    const id = idOf(entry)
    const row = rowOf(id)
    if (n > 0 && isNearAny(row, n, keyOfEntry(entry))) continue
    putAmong(n, row)
    store<u32>(chosen + (<usize>n << 2), id)
    n++
  }
  return n
}
