// The bytes of what changed in a dense field since a snapshot of it (docs/formats/arena.md). Lists change everywhere with every insert, so
// rows and lists are listed by ordinal. Groups are applied in order: a later one replaces what an earlier one has. Input may be damaged or
// hostile, like that of arena-file.ts.
//
//   delta    magic "ANNALDD1" | version u32 | segments u32
//   segment  settled u32 | end u32 | rows u32 | dead u32 | linked u32 | entry u32 | units u32 | unchecked u32 | groups u32 | 0 u32
//   group    rows u32 | lists u32 | units u32 | 0 u32
//            | ordinal u32, code, norm f32, cold part of each row | ordinal u32, links, place of its upper lists u32 of each list | units
//            each of the seven arrays padded to 8 bytes

import { freeBuffer } from '@annal/wal'
import { assert } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import { elementAt } from '../element-at.ts'
import type { Rest } from '../field.ts'
import { roundUp } from '../round-up.ts'
import type { Arena } from './arena.ts'
import { ArenaChanges, type Changed } from './arena-changes.ts'
import { segmentKindOf, stateWords } from './arena-parts.ts'
import { header, none } from './header.ts'
import { levelOf } from './level.ts'

export const deltaMagic = 'ANNALDD1'
export const deltaHeaderBytes = 16
const segmentHeaderBytes = 40
const groupHeaderBytes = 16
/** Rows and lists of one group at most: less than a millisecond of copying. */
const groupMax = 2_048

/** What changed in one arena since a snapshot, copied while writers continue. */
export class DeltaAhead {
  readonly arena: Arena
  readonly hasHeads: boolean
  /** Copies what changed before. */
  readonly #copying: Generator<Uint8Array, void>
  readonly #since: ArenaChanges
  readonly #groups: Uint8Array[] = []
  #released = false

  /** Ends `changes`. No job may be running. */
  constructor(changes: ArenaChanges) {
    this.arena = changes.arena
    this.hasHeads = changes.hasHeads
    this.#copying = groupsOf(this.arena, changes.changed())
    changes.end()
    // What is written while the rest is copied is copied again at the end.
    this.#since = new ArenaChanges(this.arena)
  }

  async copy(rest: Rest): Promise<void> {
    while (!this.#released) {
      const { done, value } = this.#copying.next()
      if (done) return
      this.#groups.push(value)
      await rest(value.length)
    }
  }

  /** These rows change. */
  add(ordinals: Uint32Array): void {
    this.#since.add(ordinals)
  }

  reserve(end: number): void {
    this.#since.reserve(end)
  }

  release(): void {
    this.#released = true
    this.#since.end()
  }

  /** The bytes of the segment as of this moment. No job may be running. */
  finish(settled: boolean): Uint8Array[] {
    this.#groups.push(...this.#copying, ...groupsOf(this.arena, this.#since.changed()))
    this.release()
    const head = new Uint32Array(segmentHeaderBytes / 4)
    head.set([
      segmentKindOf(settled, this.hasHeads),
      ...stateWords.map((word) => this.arena.word(word)),
      this.#groups.length,
    ])
    return [new Uint8Array(head.buffer), ...this.#groups]
  }
}

/** About how many bytes the changes will take, units not counted. */
export function deltaBytes({ shape }: Arena, { rows, lists }: Changed): number {
  return rows.length * (shape.codeStride + shape.coldStride + 8) + lists.length * (shape.linksAtBase * 4 + 8)
}

/** The first bytes of a delta of a field. */
export function deltaHead(version: number, segments: number): Uint8Array {
  const head = new Uint8Array(deltaHeaderBytes)
  head.set(new TextEncoder().encode(deltaMagic))
  new Uint32Array(head.buffer, 8).set([version, segments])
  return head
}

function* groupsOf(arena: Arena, { rows, lists }: Changed): Generator<Uint8Array, void> {
  for (let from = 0; from < Math.max(rows.length, lists.length); from += groupMax)
    yield groupOf(arena, rows.subarray(from, from + groupMax), lists.subarray(from, from + groupMax))
}

function groupOf(arena: Arena, rows: Uint32Array, lists: Uint32Array): Uint8Array {
  const { shape, u8, u32 } = arena
  // Read once: a worker may write a place while this thread copies. Such a list is copied again in a later group.
  const uppers = Uint32Array.from(lists, (ordinal) => elementAt(u32, addressesOf(arena, ordinal).upper / 4))
  const levels = Array.from(lists, (ordinal, i) => levelsAt(arena, ordinal, elementAt(uppers, i)))
  const units = levels.reduce((sum, count) => sum + count, 0)
  const layout = layoutOf(arena, rows.length, lists.length, units)
  const bytes = new Uint8Array(groupHeaderBytes + layout.bytes)
  new Uint32Array(bytes.buffer, 0, 3).set([rows.length, lists.length, units])
  const body = bytes.subarray(groupHeaderBytes)
  const words = new Uint32Array(bytes.buffer, groupHeaderBytes)
  words.set(rows, layout.rowOrdinals / 4)
  words.set(lists, layout.listOrdinals / 4)
  words.set(uppers, layout.uppers / 4)
  const copy = (to: number, from: number, length: number) => body.set(u8.subarray(from, from + length), to)
  for (const [i, ordinal] of rows.entries()) {
    const { code, norm, cold } = addressesOf(arena, ordinal)
    copy(layout.codes + i * shape.codeStride, code, shape.codeStride)
    words[layout.norms / 4 + i] = elementAt(u32, norm / 4)
    copy(layout.colds + i * shape.coldStride, cold, shape.coldStride)
  }
  const listBytes = shape.linksAtBase * 4
  let unit = layout.units
  for (const [i, ordinal] of lists.entries()) {
    copy(layout.links + i * listBytes, addressesOf(arena, ordinal).links, listBytes)
    const length = elementAt(levels, i) * shape.unitBytes
    if (length > 0) copy(unit, unitAddress(arena, elementAt(uppers, i)), length)
    unit += length
  }
  return bytes
}

/** Offsets of the arrays of a group, and their size. */
function layoutOf({ shape }: Arena, rows: number, lists: number, units: number) {
  let bytes = 0
  const take = (length: number) => {
    const offset = bytes
    bytes += roundUp(length, 8)
    return offset
  }
  const rowOrdinals = take(rows * 4)
  const codes = take(rows * shape.codeStride)
  const norms = take(rows * 4)
  const colds = take(rows * shape.coldStride)
  const listOrdinals = take(lists * 4)
  const links = take(lists * shape.linksAtBase * 4)
  const uppers = take(lists * 4)
  const unitsAt = take(units * shape.unitBytes)
  return { rowOrdinals, codes, norms, colds, listOrdinals, links, uppers, units: unitsAt, bytes }
}

function addressesOf(arena: Arena, ordinal: number) {
  const { blockShift, blockRows, inBlock, codeStride, coldStride, linksAtBase } = arena.shape
  const block = arena.blockAddress(ordinal >>> blockShift)
  const row = ordinal & (blockRows - 1)
  return {
    code: block + row * codeStride,
    links: block + inBlock.links + row * linksAtBase * 4,
    upper: block + inBlock.upper + row * 4,
    norm: block + inBlock.norms + row * 4,
    cold: block + inBlock.cold + row * coldStride,
  }
}

/** Number of lists above level 0. A row that follows another has none, unless it had them before. */
function levelsAt({ shape }: Arena, ordinal: number, upper: number): number {
  return upper === none ? 0 : levelOf(ordinal, shape.params.M)
}

/** Units of one node are never in two chunks. */
function unitAddress(arena: Arena, unit: number): number {
  const { unitShift, unitBytes } = arena.shape
  return arena.unitChunkAddress(unit >>> unitShift) + (unit & (2 ** unitShift - 1)) * unitBytes
}

/** The source of a delta, and how a fault of its content is reported. */
export interface DeltaSource {
  readonly source: ByteSource
  damaged(what: string): Error
}

/**
 * Changes a loaded arena to the state after the delta. The caller must check the graph afterwards. Throws snapshot_damaged; the arena is
 * then useless.
 */
export async function applyDelta(
  arena: Arena,
  { settled, endMax }: { readonly settled: boolean; readonly endMax: number },
  { source, damaged }: DeltaSource,
): Promise<void> {
  const head = await wordsFrom(source, segmentHeaderBytes)
  const [kind, end = 0, rows = 0, dead = 0, linked = 0, entry = 0, units = 0, , groups = 0] = head
  if (kind !== segmentKindOf(settled, arena.hasHeads)) throw damaged('whether the segment is settled')
  if (end < arena.word(header.end) || end > endMax || rows > end || dead > end || linked > end) throw damaged('counts')
  if (entry === none ? linked > 0 : entry >= end) throw damaged('the entry point')
  arena.reserve(end)
  if (units < arena.word(header.units) || units > arena.unitChunks * 2 ** arena.shape.unitShift) throw damaged('units')
  stateWords.forEach((word, i) => {
    arena.setWord(word, elementAt(head, i + 1))
  })
  arena.kernel.attach(arena.ownThread)
  for (let i = 0; i < groups; i++) await applyGroup(arena, { end, units }, { source, damaged })
}

async function applyGroup(
  arena: Arena,
  { end, units: unitsEnd }: { readonly end: number; readonly units: number },
  { source, damaged }: DeltaSource,
): Promise<void> {
  const [rows = 0, lists = 0, units = 0, zero] = await wordsFrom(source, groupHeaderBytes)
  const unitsMax = lists * 16
  if (rows > groupMax || lists > groupMax || units > unitsMax || zero !== 0) throw damaged('a group of changes')
  const layout = layoutOf(arena, rows, lists, units)
  const body = new Uint8Array(layout.bytes)
  await source.fill(body)
  const words = new Uint32Array(body.buffer)
  const { shape, u8, u32 } = arena
  const copy = (to: number, from: number, length: number) => u8.set(body.subarray(from, from + length), to)
  for (let i = 0; i < rows; i++) {
    const ordinal = elementAt(words, layout.rowOrdinals / 4 + i)
    if (ordinal >= end) throw damaged(`the row of ordinal ${ordinal}`)
    const { code, norm, cold } = addressesOf(arena, ordinal)
    copy(code, layout.codes + i * shape.codeStride, shape.codeStride)
    u32[norm / 4] = elementAt(words, layout.norms / 4 + i)
    copy(cold, layout.colds + i * shape.coldStride, shape.coldStride)
    if (arena.hasHeads) arena.kernel.writeHead(ordinal)
  }
  let at = layout.units
  const { linksAtBase, unitBytes, unitShift } = shape
  for (let i = 0; i < lists; i++) {
    const ordinal = elementAt(words, layout.listOrdinals / 4 + i)
    if (ordinal >= end) throw damaged(`the lists of ordinal ${ordinal}`)
    const { links, upper } = addressesOf(arena, ordinal)
    copy(links, layout.links + i * linksAtBase * 4, linksAtBase * 4)
    const unit = elementAt(words, layout.uppers / 4 + i)
    u32[upper / 4] = unit
    const levels = levelsAt(arena, ordinal, unit)
    if (levels === 0) continue
    const length = levels * unitBytes
    const within = unit & (2 ** unitShift - 1)
    if (unit + levels > unitsEnd || within + levels > 2 ** unitShift || at + length > layout.bytes)
      throw damaged(`the upper lists of ordinal ${ordinal}`)
    copy(unitAddress(arena, unit), at, length)
    at += length
  }
  if (at !== layout.units + units * unitBytes) throw damaged('the number of upper lists')
  freeBuffer(body.buffer)
}

async function wordsFrom(source: ByteSource, bytes: number): Promise<Uint32Array> {
  assert(bytes % 4 === 0, 'whole words')
  const words = new Uint8Array(bytes)
  await source.fill(words)
  return new Uint32Array(words.buffer)
}
