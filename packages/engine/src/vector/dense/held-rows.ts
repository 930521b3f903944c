// Copies of rows whose ordinals are about to be reused, for exact searches as of earlier versions. A copy has the bytes of the row in its
// arena and is compared by the same kernel, so its similarity is that of the row. Until somebody searches, copies take no WebAssembly
// memory.
import { assert } from '../../errors.ts'
import type { DenseHits, HeldRows } from '../field.ts'
import { answerIn, type Found, type WorkerPool } from '../pool.ts'
import { type Arena, newArena } from './arena.ts'
import { header } from './header.ts'
import { mergeHits } from './merge-hits.ts'
import type { Segment } from './segment.ts'
import type { Shape } from './shape.ts'

/** Copies of one segment; a handle is the number of the segment times this, and the number of the copy. */
const copiesMax = 2 ** 20

/** The parts of a field that its copies need. */
interface CopiedField {
  readonly segments: readonly Segment[]
  readonly segmentRows: number
  readonly pool: WorkerPool
}

export function holdRows(field: CopiedField): HeldRows {
  return new CopiedRows(field)
}

class CopiedRows implements HeldRows {
  readonly #field: CopiedField
  readonly #segments: (CopiedSegment | undefined)[] = []

  constructor(field: CopiedField) {
    this.#field = field
  }

  take(ordinal: number): number | undefined {
    const { segmentRows, segments, pool } = this.#field
    const index = Math.floor(ordinal / segmentRows)
    const arena = segments[index]?.arena
    if (arena === undefined || arena.birth(ordinal % segmentRows) === undefined) return undefined
    this.#segments[index] ??= new CopiedSegment(arena, pool)
    return index * copiesMax + this.#segments[index].take(arena, ordinal % segmentRows)
  }

  free(handle: number): void {
    this.#of(handle).free(handle % copiesMax)
  }

  scan(
    query: Float32Array,
    { k, version, handles }: { readonly k: number; readonly version: number; readonly handles: Uint32Array },
  ): DenseHits {
    // Nearly always there is one segment.
    if (handles.every((handle) => handle < copiesMax))
      return mergeHits([{ segment: 0, ...this.#of(0).scan(query, { k, version, listed: handles }) }], k, copiesMax)
    const dealt = new Map<number, number[]>()
    for (const handle of handles) {
      const index = Math.floor(handle / copiesMax)
      const copies = dealt.get(index)
      if (copies) copies.push(handle % copiesMax)
      else dealt.set(index, [handle % copiesMax])
    }
    const found = Array.from(dealt, ([segment, copies]) => ({
      segment,
      ...this.#of(segment * copiesMax).scan(query, { k, version, listed: Uint32Array.from(copies) }),
    }))
    return mergeHits(found, k, copiesMax)
  }

  row(handle: number): Float32Array {
    return this.#of(handle).row(handle % copiesMax)
  }

  norm(handle: number): number {
    return this.#of(handle).norm(handle % copiesMax)
  }

  bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.bytes() ?? 0), 0)
  }

  close(): void {
    for (const segment of this.#segments) segment?.close()
    this.#segments.length = 0
  }

  #of(handle: number): CopiedSegment {
    const segment = this.#segments[Math.floor(handle / copiesMax)]
    assert(segment, 'a copy is used until it is freed')
    return segment
  }
}

const inArena = new Uint8Array(0)

class CopiedSegment {
  readonly #pool: WorkerPool
  readonly #shape: Shape
  readonly #center: Float32Array
  /** The bytes of each copy; undefined if it is free. */
  readonly #bytes: (Uint8Array | undefined)[] = []
  readonly #free: number[] = []
  /** Made by the first search. */
  #arena: Arena | undefined
  #waiting: number[] = []

  constructor(from: Arena, pool: WorkerPool) {
    this.#pool = pool
    this.#shape = from.shape
    this.#center = from.f32.slice(from.centerAddress / 4, from.centerAddress / 4 + from.shape.lanes)
  }

  take(from: Arena, ordinal: number): number {
    const copy = this.#free.pop() ?? this.#bytes.length
    assert(copy < copiesMax, 'few rows are held')
    const { codeStride, coldStride } = this.#shape
    const bytes = new Uint8Array(codeStride + 4 + coldStride)
    let offset = 0
    for (const [address, length] of placesOf(from, ordinal)) {
      bytes.set(from.u8.subarray(address, address + length), offset)
      offset += length
    }
    this.#bytes[copy] = bytes
    this.#waiting.push(copy)
    return copy
  }

  free(copy: number): void {
    this.#bytes[copy] = undefined
    this.#free.push(copy)
  }

  scan(
    query: Float32Array,
    { k, version, listed }: { readonly k: number; readonly version: number; readonly listed: Uint32Array },
  ): Found {
    const arena = this.#placed()
    return answerIn(arena.attached, { kind: 'scan', memory: arena.id, query, k, version, listed, from: 0, to: 0 })
  }

  row(copy: number): Float32Array {
    const arena = this.#placed()
    arena.kernel.attach(arena.ownThread)
    arena.kernel.decodeRow(copy)
    const offset = arena.ownScratch.query / 4
    return Float32Array.from(arena.f32.subarray(offset, offset + this.#shape.params.dimension))
  }

  norm(copy: number): number {
    return this.#placed().norm(copy)
  }

  /** The arena with every copy. */
  #placed(): Arena {
    const arena = this.#arena ?? this.#newArena()
    this.#arena = arena
    if (this.#waiting.length === 0) return arena
    arena.reserve(this.#bytes.length)
    arena.setWord(header.end, Math.max(arena.word(header.end), this.#bytes.length))
    for (const copy of this.#waiting) {
      const bytes = this.#bytes[copy]
      if (bytes === undefined || bytes === inArena) continue
      let offset = 0
      for (const [address, length] of placesOf(arena, copy)) {
        arena.u8.set(bytes.subarray(offset, offset + length), address)
        offset += length
      }
      this.#bytes[copy] = inArena
    }
    this.#waiting = []
    return arena
  }

  #newArena(): Arena {
    // Copies are not walked, so they need no heads.
    const arena = newArena({ ...this.#shape, headBytes: 0 }, this.#pool)
    arena.f32.set(this.#center, arena.centerAddress / 4)
    return arena
  }

  bytes(): number {
    const { codeStride, coldStride } = this.#shape
    const copies = this.#arena ? this.#waiting.length : this.#bytes.length - this.#free.length
    return copies * (codeStride + 4 + coldStride) + (this.#arena?.bytesTouched ?? 0)
  }

  close(): void {
    if (this.#arena) this.#pool.discard(this.#arena)
    this.#arena = undefined
  }
}

/** Addresses and lengths of the parts of a row: its code with factors and versions, its norm, and the part that only re-ranking reads. */
function placesOf(arena: Arena, ordinal: number): readonly (readonly [address: number, length: number])[] {
  const { blockShift, blockRows, codeStride, coldStride, inBlock } = arena.shape
  const block = arena.blockAddress(ordinal >>> blockShift)
  const within = ordinal & (blockRows - 1)
  return [
    [block + within * codeStride, codeStride],
    [block + inBlock.norms + within * 4, 4],
    [block + inBlock.cold + within * coldStride, coldStride],
  ]
}
