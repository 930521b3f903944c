// The parts of an arena that a replay must reproduce, in the order in which they are hashed and written.
import { roundUp } from '../round-up.ts'
import type { Arena } from './arena.ts'
import { header } from './header.ts'

/** A part of an arena: its address and length. */
export interface Part {
  readonly kind: 'codes' | 'links' | 'upper' | 'norms' | 'cold' | 'heads' | 'units'
  /** -1 for units, which belong to no block. */
  readonly block: number
  readonly address: number
  readonly bytes: number
  /** For parts that are written once for each row: the ordinals, and the bytes of each row. */
  readonly rows?: { readonly first: number; readonly count: number; readonly stride: number }
}

export const stateWords = [
  header.end,
  header.rows,
  header.dead,
  header.linked,
  header.entry,
  header.units,
  header.unchecked,
] as const

/** The first word of a segment in a file: whether it settled, and whether its rows have heads. */
export const segmentKinds = { first: 0, settled: 1, withHeads: 2 } as const

export function segmentKindOf(settled: boolean, hasHeads: boolean): number {
  return hasHeads ? segmentKinds.withHeads : settled ? segmentKinds.settled : segmentKinds.first
}

export function* partsOf(arena: Arena): Generator<Part> {
  const end = arena.word(header.end)
  for (let block = 0; block * arena.shape.blockRows < end; block++) yield* partsOfBlock(arena, block)
  yield* partsOfUnits(arena)
}

export function* partsOfBlock(arena: Arena, block: number): Generator<Part> {
  const { inBlock, codeStride, coldStride, linksAtBase, blockRows, headBytes } = arena.shape
  const first = block * blockRows
  const count = Math.min(blockRows, arena.word(header.end) - first)
  const base = arena.blockAddress(block)
  const rows = (stride: number) => ({ first, count, stride })
  yield { kind: 'codes', block, address: base, bytes: count * codeStride, rows: rows(codeStride) }
  yield { kind: 'links', block, address: base + inBlock.links, bytes: roundUp(count * linksAtBase * 4, 8) }
  yield { kind: 'upper', block, address: base + inBlock.upper, bytes: roundUp(count * 4, 8), rows: rows(4) }
  yield { kind: 'norms', block, address: base + inBlock.norms, bytes: roundUp(count * 4, 8), rows: rows(4) }
  const cold = base + inBlock.cold
  yield { kind: 'cold', block, address: cold, bytes: roundUp(count * coldStride, 8), rows: rows(coldStride) }
  if (!arena.hasHeads) return
  yield { kind: 'heads', block, address: arena.headsAddress(block), bytes: count * headBytes, rows: rows(headBytes) }
}

export function* partsOfUnits(arena: Arena): Generator<Part> {
  const { unitShift, unitBytes } = arena.shape
  const chunkUnits = 2 ** unitShift
  const units = arena.word(header.units)
  for (let chunk = 0; chunk * chunkUnits < units; chunk++) {
    const used = Math.min(chunkUnits, units - chunk * chunkUnits)
    yield { kind: 'units', block: -1, address: arena.unitChunkAddress(chunk), bytes: roundUp(used * unitBytes, 8) }
  }
}
