// The lists of a node in an arena.
import { marked } from '../../src/vector/dense/header.ts'
import { levelOf } from '../../src/vector/dense/level.ts'
import type { Segment } from '../../src/vector/dense/segment.ts'

export function listsOf({ arena }: Segment, id: number, M: number): number[][] {
  if (arena.kernel.isFollower(id)) return []
  return Array.from({ length: levelOf(id, M) + 1 }, (_, level) => {
    const from = (arena.kernel.linksOf(id, level) >>> 0) / 4
    const list = [...arena.u32.subarray(from, from + (level === 0 ? 2 * M : M))]
    const end = list.findIndex((word) => word >= marked)
    return end < 0 ? list : list.slice(0, end)
  })
}
