// Removed rows of an arena. A row is removed by the version of its death, and stays in the graph until a sweep or a reuse of its ordinal.
import { elementAt } from '../element-at.ts'
import type { Arena } from './arena.ts'
import { header } from './header.ts'

export function deathOf(arena: Arena, ordinal: number): number {
  return elementAt(arena.u32, arena.tailAddress(ordinal) / 4 + 3)
}

export function setDeath(arena: Arena, ordinal: number, version: number): void {
  Atomics.store(arena.u32, arena.tailAddress(ordinal) / 4 + 3, version)
}

export function countRemoved(arena: Arena, removed: number): void {
  arena.setWord(header.rows, arena.word(header.rows) - removed)
  arena.setWord(header.dead, arena.word(header.dead) + removed)
}
