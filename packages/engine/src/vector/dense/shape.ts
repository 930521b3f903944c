// The sizes of everything in an arena and the offsets inside a block. assembly/layout.ts describes the same layout and reads these numbers
// from the header.
import type { DenseSchemaParams, Precision } from '../../model/schema.ts'
import { roundUp } from '../round-up.ts'
import { memoryBytesMax } from '../shared-memory.ts'

export interface Shape {
  readonly params: DenseSchemaParams
  /** The precision of the rows; a field that has not settled keeps float32 for any precision. */
  readonly precision: Precision
  /** The dimension rounded up to 16; vectors in scratch are padded to it. */
  readonly lanes: number
  readonly codeBytes: number
  readonly codeStride: number
  readonly linksAtBase: number
  readonly coldStride: number
  readonly blockShift: number
  readonly blockRows: number
  readonly inBlock: { readonly links: number; readonly upper: number; readonly norms: number; readonly cold: number }
  readonly blockBytes: number
  readonly blocksMax: number
  readonly unitBytes: number
  readonly unitShift: number
  readonly unitChunksMax: number
  /** Bytes of a head, 0 if rows have none, and the number of ordinals from which on they have them. */
  readonly headBytes: number
  readonly headsFrom: number
  /** Bytes of a row, without those for the levels above 0 and for threads. */
  readonly rowBytes: number
}

const blockBytesAim = 2 ** 20
const rotatedBitsMin = 256
const unitChunkBytesAim = 2 ** 14

/** Components of a head. assembly/heads/head.ts has the same number. */
export const headComponents = 192
const headBytesOfRow = 128
/** The precisions whose walks compare codes of seven bits. */
const headPrecisions: ReadonlySet<Precision> = new Set<Precision>(['int8', 'int16', 'float16', 'float32'])
/** Codes must be several times as large as heads for heads to save more than they cost. */
const headLanesMin = 512
/** A projection is learned from a covariance matrix of lanes x lanes. */
const headLanesMax = 3072
/**
 * Bytes of codes from which on heads are faster: fewer are in the cache, where a code costs little more than its head. A count of bytes and
 * not of time, so that every machine decides the same.
 */
const headCodesMin = 24 * 2 ** 20

/** What determines the shape of an arena besides the field. A replay must use the same. */
export interface ShapeOptions {
  /** Number of ordinals from which on rows have heads, whatever the dimension. */
  readonly headsFrom?: number | undefined
}

export function shapeOf(params: DenseSchemaParams, precision: Precision, options: ShapeOptions = {}): Shape {
  const lanes = roundUp(params.dimension, 16)
  const codeBytes = codeBytesOf(params, precision)
  const codeStride = codeBytes + 16
  const linksAtBase = 2 * params.M
  const coldStride = coldBytes(params.dimension, precision)
  const rowBytes = codeStride + linksAtBase * 4 + 4 + 4 + coldStride
  const blockShift = clamp(Math.floor(Math.log2(blockBytesAim / rowBytes)), 4, 12)
  const blockRows = 2 ** blockShift
  const links = codeStride * blockRows
  const upper = links + linksAtBase * 4 * blockRows
  const norms = upper + 4 * blockRows
  const cold = norms + 4 * blockRows
  const blockBytes = roundUp(cold + coldStride * blockRows, 64)
  const headBytes = headBytesOf(params, precision, options)
  const headsFrom = options.headsFrom ?? Math.ceil(headCodesMin / codeStride)
  const blocksMax = Math.floor(memoryBytesMax / (blockBytes + headBytes * blockRows))
  const unitBytes = params.M * 4
  const unitShift = Math.max(5, Math.floor(Math.log2(unitChunkBytesAim / unitBytes)))
  const unitsMax = ((blocksMax * blockRows) / Math.max(1, params.M - 1)) * 1.25
  const unitChunksMax = Math.ceil(unitsMax / 2 ** unitShift) + 64
  return {
    params,
    precision,
    lanes,
    codeBytes,
    codeStride,
    linksAtBase,
    coldStride,
    blockShift,
    blockRows,
    inBlock: { links, upper, norms, cold },
    blockBytes,
    blocksMax,
    unitBytes,
    unitShift,
    unitChunksMax,
    headBytes,
    headsFrom,
    rowBytes,
  }
}

function codeBytesOf(params: DenseSchemaParams, precision: Precision): number {
  if (precision === 'binary') return bitsOf(params) / 8
  const packed = packings[precision]
  if (packed === undefined) return roundUp(params.dimension, 16)
  // Codes are compared 16 bytes at a time.
  return roundUp(Math.max(packed.componentsMin, params.dimension) * packed.bits, 128) / 8
}

/**
 * Bits per component of a packed code, and the least number of components. A vector of few dimensions is rotated into more, because the error
 * decreases with the square root of their number: 32 bytes at least cost little next to the links of a row.
 */
const packings: Partial<Record<Precision, { readonly bits: number; readonly componentsMin: number }>> = {
  int4: { bits: 4, componentsMin: 64 },
  int2: { bits: 2, componentsMin: 128 },
}

/** Components of the rotated vector whose code a row has, 0 for codes of vectors that are not rotated. */
export function rotatedLength({ precision, codeBytes }: Pick<Shape, 'precision' | 'codeBytes'>): number {
  const bits = precision === 'binary' ? 1 : packings[precision]?.bits
  return bits === undefined ? 0 : (codeBytes * 8) / bits
}

/**
 * Bits of a binary code. In rules 1 and 2, one for each dimension. From rules 3 on, the number of components of a rotated vector, which may
 * be more: the error of an estimate decreases with the square root of this number, and below 256 it would be too large to search by.
 */
function bitsOf({ dimension, rules = 1 }: DenseSchemaParams): number {
  const bits = roundUp(dimension, 128)
  return rules < 3 ? bits : Math.max(rotatedBitsMin, bits)
}

/** Rows by rules before 4 have no heads, and neither have rows whose codes are small. */
function headBytesOf(
  { dimension, rules = 1 }: DenseSchemaParams,
  precision: Precision,
  { headsFrom }: ShapeOptions,
): number {
  const isLarge = headsFrom !== undefined || (dimension >= headLanesMin && dimension <= headLanesMax)
  return rules >= 4 && isLarge && headPrecisions.has(precision) ? headBytesOfRow : 0
}

/** Bytes of a projection (assembly/heads/head.ts). */
export function projectionBytes({ lanes }: Pick<Shape, 'lanes'>): number {
  return headComponents * (lanes + 8) + 16
}

/** Bytes of a row that only re-ranking reads. */
function coldBytes(dimension: number, precision: Precision): number {
  switch (precision) {
    case 'float32':
      return roundUp(dimension * 4, 16)
    case 'float16':
      return roundUp(dimension, 16) * 2 + 4
    case 'int16':
      return roundUp(dimension, 16) + 4
    case 'int8':
      return roundUp(dimension, 64) / 4 + 4
    case 'binary':
    case 'int4':
    case 'int2':
      return 0
  }
}

function clamp(n: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, n))
}
