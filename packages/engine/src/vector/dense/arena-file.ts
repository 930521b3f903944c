// The bytes of a dense field outside memory (docs/formats/arena.md). Arrays are written as they are in the arena, block by block and only up
// to the last row, so loading them is reading them. Input may be damaged or hostile: it is not used before it is certain that a walk cannot
// leave the arena.
//
//   field    magic "ANNALDF1" | version u32 | dimension u32 | metric u32 | precision u32 | M u32 | efConstruction u32
//            | segmentRows u32 | segments u32
//   segment  kind u32 | end u32 | rows u32 | dead u32 | linked u32 | entry u32 | units u32 | unchecked u32
//            | center f32 x lanes | projection, if rows have heads | blocks | units
//   block    codes | links | upper | norms | cold | heads, if rows have them, each padded to 8 bytes, for the rows below end

import { EngineError } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import { metricNumbers, numberOf, precisions } from '../../model/choices.ts'
import { type DenseFieldSchema, rulesNewest } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import type { WorkerPool } from '../pool.ts'
import { type Arena, newArena } from './arena.ts'
import type { ArenaCut } from './arena-cut.ts'
import { applyDelta, deltaHeaderBytes, deltaMagic } from './arena-delta.ts'
import {
  type Part,
  partsOf,
  partsOfBlock,
  partsOfUnits,
  segmentKindOf,
  segmentKinds,
  stateWords,
} from './arena-parts.ts'
import { header, none } from './header.ts'
import { headComponents, type ShapeOptions, shapeOf } from './shape.ts'

const magic = 'ANNALDF1'
/** The newest version. The version of a field is that of its rules. */
const formatVersion = rulesNewest
const fieldHeaderBytes = 40
const segmentHeaderBytes = 32
const loadBytesAtOnce = 16 * 1024 * 1024

export interface SegmentState {
  readonly arena: Arena
  readonly settled: boolean
}

/** Hashes a segment, and yields after each piece of its arena. Nothing may be applied before the end. */
export function* hashInSteps({ arena, settled }: SegmentState): Generator<void, bigint> {
  let hash = BigInt(settled ? 1 : 2)
  for (const word of stateWords) hash = BigInt.asUintN(64, hash * 0x100000001b3n + BigInt(arena.word(word)))
  hash = arena.kernel.hash(arena.centerAddress, arena.shape.lanes * 4, hash)
  if (arena.hasHeads) hash = arena.kernel.hash(arena.projection.address, arena.projection.bytes, hash)
  for (const { address, bytes } of partsOf(arena)) {
    hash = arena.kernel.hash(address, bytes, hash)
    yield
  }
  return BigInt.asUintN(64, hash)
}

export function* dumpField(
  definition: DenseFieldSchema,
  segmentRows: number,
  segments: readonly ArenaCut[],
): Generator<Uint8Array> {
  const { params } = definition
  const words = [
    params.rules ?? 1,
    params.dimension,
    metricNumbers[params.spaceType],
    numberOf(precisions, params.precision),
  ]
  const head = new Uint8Array(fieldHeaderBytes)
  head.set(new TextEncoder().encode(magic))
  new Uint32Array(head.buffer, 8).set([...words, params.M, params.efConstruction, segmentRows, segments.length])
  yield head
  for (const cut of segments) {
    const state = new Uint32Array(segmentHeaderBytes / 4)
    state.set([segmentKindOf(cut.settled, cut.projection !== undefined), ...cut.state])
    yield new Uint8Array(state.buffer)
    yield cut.center
    if (cut.projection !== undefined) yield cut.projection
    yield* cut.pieces()
  }
}

/** A snapshot of a field: all of it as of one moment, and what changed later, each source opened when the one before it was read. */
export interface FieldSources extends ShapeOptions {
  readonly source: ByteSource
  readonly deltas?: AsyncIterable<ByteSource>
}

/** The inverse of dumpField and of deltas. Throws `snapshot_damaged` or `format_too_new`. */
export async function loadSegments(
  definition: DenseFieldSchema,
  pool: WorkerPool,
  segmentRows: number,
  { source, deltas, headsFrom }: FieldSources,
): Promise<SegmentState[]> {
  const segments = await readSegments(definition, pool, segmentRows, { source, headsFrom })
  for await (const delta of deltas ?? []) await changeSegments(definition, segmentRows, segments, delta)
  // Last, because lists before a delta may name rows that only the delta has, and no walk has begun.
  for (const { arena } of segments) checkSound(arena, new FieldBytes(source, definition.name))
  return segments
}

async function changeSegments(
  { name, params }: DenseFieldSchema,
  segmentRows: number,
  segments: readonly SegmentState[],
  source: ByteSource,
): Promise<void> {
  const bytes = new FieldBytes(source, name)
  const damaged = (what: string) => bytes.damaged(what)
  const head = await bytes.take(deltaHeaderBytes)
  const [version, count] = new Uint32Array(head.slice(8).buffer)
  if (new TextDecoder().decode(head.subarray(0, 8)) !== deltaMagic) throw damaged('magic')
  if (version !== (params.rules ?? 1) || count !== segments.length) throw damaged('a header of another field')
  for (const { arena, settled } of segments)
    await applyDelta(arena, { settled, endMax: segmentRows }, { source, damaged })
  await source.end()
}

function checkSound(arena: Arena, bytes: FieldBytes): void {
  arena.kernel.attach(arena.ownThread)
  const unsound = arena.kernel.firstUnsound() >>> 0
  if (unsound !== none) throw bytes.damaged(`the row of ordinal ${unsound}`)
}

async function readSegments(
  definition: DenseFieldSchema,
  pool: WorkerPool,
  segmentRows: number,
  { source, ...options }: Omit<FieldSources, 'deltas'>,
): Promise<SegmentState[]> {
  const bytes = new FieldBytes(source, definition.name)
  const { params } = definition
  const head = await bytes.take(fieldHeaderBytes)
  if (new TextDecoder().decode(head.subarray(0, 8)) !== magic) throw bytes.damaged('magic')
  const words = new Uint32Array(head.slice(8).buffer)
  const version = elementAt(words, 0)
  if (version > formatVersion)
    throw new EngineError('format_too_new', `field format ${version} is newer than ${formatVersion}`, {
      field: definition.name,
      value: version,
      limit: formatVersion,
    })
  const expected = [
    params.rules ?? 1,
    params.dimension,
    metricNumbers[params.spaceType],
    numberOf(precisions, params.precision),
    params.M,
    params.efConstruction,
    segmentRows,
  ]
  expected.forEach((value, i) => {
    if (words[i] !== value) throw bytes.damaged('a header of another field')
  })
  const segments: SegmentState[] = []
  for (let i = 0; i < elementAt(words, 7); i++)
    segments.push(await loadSegment(definition, pool, { segmentRows, ...options }, bytes))
  await source.end()
  return segments
}

async function loadSegment(
  { params }: DenseFieldSchema,
  pool: WorkerPool,
  { segmentRows, ...options }: ShapeOptions & { readonly segmentRows: number },
  bytes: FieldBytes,
): Promise<SegmentState> {
  const state = new Uint32Array((await bytes.take(segmentHeaderBytes)).buffer)
  const settled = elementAt(state, 0) !== segmentKinds.first
  const shape = shapeOf(params, settled ? params.precision : 'float32', options)
  checkState(state, segmentRows, bytes)
  const arena = newArena(shape, pool)
  stateWords.forEach((word, i) => {
    arena.setWord(word, elementAt(state, i + 1))
  })
  await bytes.fill(arena, [{ address: arena.centerAddress, bytes: shape.lanes * 4 }])
  if (elementAt(state, 0) === segmentKinds.withHeads) await loadProjection(arena, bytes)
  await loadBlocks(arena, elementAt(state, 1), bytes)
  if (arena.word(header.units) > arena.unitChunks * 2 ** shape.unitShift) throw bytes.damaged('units')
  await bytes.fill(arena, [...partsOfUnits(arena)])
  return { arena, settled }
}

/** Codes and directions are multiplied as numbers of seven bits. */
async function loadProjection(arena: Arena, bytes: FieldBytes): Promise<void> {
  const { shape } = arena
  if (shape.headBytes === 0 || arena.word(header.end) < shape.headsFrom) throw bytes.damaged('the kind of a segment')
  arena.loadHeads(arena.word(header.end))
  await bytes.fill(arena, [arena.projection])
  const { address } = arena.projection
  if (arena.u8.subarray(address, address + headComponents * shape.lanes).some((value) => value > 127))
    throw bytes.damaged('the projection')
}

/** Memory is reserved a little ahead of the bytes, because a damaged count must not take memory that nothing fills. */
async function loadBlocks(arena: Arena, end: number, bytes: FieldBytes): Promise<void> {
  const { blockRows, blockBytes } = arena.shape
  const step = Math.max(1, Math.floor(loadBytesAtOnce / blockBytes))
  for (let block = 0; block * blockRows < end; block += step) {
    arena.reserve(Math.min(end, (block + step) * blockRows), end)
    const parts: Part[] = []
    for (let i = block; i < block + step && i * blockRows < end; i++) parts.push(...partsOfBlock(arena, i))
    await bytes.fill(arena, parts)
    for (const part of parts) clearPadding(arena, part)
  }
}

/** The next row is written here, and expects bytes that no row has written. */
function clearPadding({ u8 }: Arena, { kind, address, bytes, rows }: Part): void {
  if (rows) u8.fill(kind === 'upper' ? 0xff : 0, address + rows.count * rows.stride, address + bytes)
}

/** Checks the numbers that determine how much is read and where a walk starts. */
function checkState(state: Uint32Array, segmentRows: number, bytes: FieldBytes): void {
  const [kind = 0, end = 0, rows = 0, dead = 0, linked = 0, entry = 0] = state
  if (kind > segmentKinds.withHeads || end > segmentRows || rows > end || dead > end || linked > end)
    throw bytes.damaged('counts')
  if (entry === none ? linked > 0 : entry >= end) throw bytes.damaged('the entry point')
}

/** Reads the bytes of a field in order, and reports where something is wrong. */
class FieldBytes {
  readonly #source: ByteSource
  readonly #name: string
  #offset = 0

  constructor(source: ByteSource, name: string) {
    this.#source = source
    this.#name = name
  }

  damaged(what: string): EngineError {
    return new EngineError('snapshot_damaged', `field "${this.#name}": ${what} is damaged at byte ${this.#offset}`, {
      field: this.#name,
      value: what,
    })
  }

  async take(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const taken = new Uint8Array(bytes)
    await this.#source.fill(taken)
    this.#offset += bytes
    return taken
  }

  async fill({ u8 }: Arena, parts: readonly Pick<Part, 'address' | 'bytes'>[]): Promise<void> {
    await this.#source.fill(...parts.map(({ address, bytes }) => u8.subarray(address, address + bytes)))
    this.#offset += parts.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}
