// Graphs by the first rules can lose their way in. When the ordinal at which searches enter is given to another object, they enter at the
// highest row, and by these rules that may be one that a sweep has taken out of the graph, from which nothing can be reached. A replay
// must build the same graph, so it stays as it is. Searches compare all rows instead of walking, until rows that are linked later have
// joined the graph again, or a rebuild makes one by newer rules.
import type { Arena } from './arena.ts'
import { header, marked, none } from './header.ts'

/** Living rows that searches cannot reach, as a share of all, at which comparing them is the only way to find them. */
const cutOffShare = 1 / 64

/** Whether a part of the graph cannot be reached. Looks at every link; no job may be open. */
export function isCutOff(arena: Arena): boolean {
  if (!byFirstRules(arena)) return false
  arena.kernel.attach(arena.ownThread)
  return arena.kernel.countUnreachable() > arena.word(header.rows) * cutOffShare
}

/** Whether searches enter where no link leads on, although there are rows. */
export function entersNowhere(arena: Arena): boolean {
  const entry = arena.word(header.entry)
  if (!byFirstRules(arena) || entry === none || arena.isAlive(entry)) return false
  return firstLink(arena, entry) >= marked
}

function firstLink(arena: Arena, ordinal: number): number {
  return arena.u32[(arena.kernel.linksOf(ordinal, 0) >>> 0) / 4] as number
}

function byFirstRules(arena: Arena): boolean {
  return (arena.shape.params.rules ?? 1) < 2
}
