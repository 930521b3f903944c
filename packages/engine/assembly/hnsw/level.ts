// The level of a row in the graph. src/vector/dense/level.ts has the same rule for the host.
import { LEVEL_MAX, M } from '../layout'

/**
 * Level of a node, 0 to LEVEL_MAX: a hash of its ordinal, so that a replay computes the same. One node in M reaches the next level, which
 * is the distribution of HNSW (Malkov and Yashunin, arXiv 1603.09320) with mL = 1 / ln M.
 */
export function levelOf(id: u32): i32 {
  let h = id + 0x9e3779b9
  h = (h ^ (h >> 16)) * 0x21f0aaad
  h = (h ^ (h >> 15)) * 0x735a2d97
  h = h ^ (h >> 15)
  let level: i32 = 0
  let below: u32 = 0xffffffff / <u32>M
  while (level < LEVEL_MAX && h < below) {
    level++
    below /= <u32>M
  }
  return level
}
