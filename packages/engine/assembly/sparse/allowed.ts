// The bitmap of ordinals that a search may return.
import { WINDOW } from './layout'

export const NONE: u32 = 0xffffffff

@inline
export function isAllowed(allowed: usize, bits: u32, id: u32): bool {
  return id < bits && ((load<u32>(allowed + (<usize>(id >> 5) << 2)) >> (id & 31)) & 1) == 1
}

/** `low` if its window contains an allowed ordinal, else the start of the next word with one, or NONE. */
export function nextAllowed(allowed: usize, bits: u32, low: u32): u32 {
  const words = (bits + 31) >> 5
  for (let word = low >> 5; word < words; ++word) {
    if (load<u32>(allowed + (<usize>word << 2)) == 0) continue
    const start = word << 5
    return start < low + WINDOW ? low : start
  }
  return NONE
}

/** Whether a word with an ordinal from `first` to `last` has an allowed one. */
export function anyAllowed(allowed: usize, bits: u32, first: u32, last: u32): bool {
  const words = (bits + 31) >> 5
  for (let word = first >> 5; word < words && word <= last >> 5; ++word)
    if (load<u32>(allowed + (<usize>word << 2)) != 0) return true
  return false
}
