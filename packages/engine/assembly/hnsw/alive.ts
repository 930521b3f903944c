// What the tail of a row says of its life.
import { ALIVE, NONE, tailOf } from '../layout'

/** Whether the ordinal has a row that is not removed. */
@inline
export function isAlive(id: u32): bool {
  return load<u32>(tailOf(id), 12) == ALIVE && hasRow(id)
}
/** Whether the ordinal ever had a row: its birth is not NONE. */
@inline
export function hasRow(id: u32): bool {
  return load<u32>(tailOf(id), 8) != NONE
}
