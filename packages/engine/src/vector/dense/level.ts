// The level of a row in the graph: a hash of its ordinal, so that a replay builds the same graph. One in M rows of a level is also in the
// next one.

const levelMax = 15

/** The highest level of a row, 0 to 15. assembly/hnsw/level.ts in the kernel has the same rule. */
export function levelOf(ordinal: number, M: number): number {
  let h = (ordinal + 0x9e3779b9) >>> 0
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad) >>> 0
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97) >>> 0
  h = (h ^ (h >>> 15)) >>> 0
  let level = 0
  let below = Math.floor(0xffffffff / M)
  while (level < levelMax && h < below) {
    level++
    below = Math.floor(below / M)
  }
  return level
}
