// Selects neighbors with the heuristic of HNSW (Algorithm 4 of arXiv 1603.09320): candidates from the nearest on, and only those that are
// nearer to the node than to every neighbor selected before, so that links point in different directions.
import { rowOf } from '../layout'
import { reportProgress, chosen } from '../scratch'
import { isNearSelected, putSelected } from '../distance/selected'
import { idOf, keyOfEntry } from './pool'

/**
 * Selects at most `countMax` of the `count` sorted entries at `from` and writes their ordinals to `chosen`. Returns the number selected.
 */
export function chooseDiverse(from: usize, count: i32, countMax: i32): i32 {
  let selected: i32 = 0
  for (let i: i32 = 0; i < count && selected < countMax; ++i) {
    reportProgress()
    const entry = load<u64>(from + (<usize>i << 3))
    const id = idOf(entry)
    const row = rowOf(id)
    if (selected > 0 && isNearSelected(row, selected, keyOfEntry(entry))) continue
    putSelected(selected, row)
    store<u32>(chosen + (<usize>selected << 2), id)
    selected++
  }
  return selected
}
