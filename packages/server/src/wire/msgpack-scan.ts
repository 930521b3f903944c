// Checks MessagePack bytes before they are decoded: the depth, whether every announced count fits into the bytes that follow, and
// where the first value ends. A few bytes can announce billions of elements and exhaust the memory of a decoder; after this
// check, a decoder can trust the counts.
import { DecodeError, decode } from '@msgpack/msgpack'
import { ServerError } from '../errors.ts'
import { bodyElementsMax, bodyNodesMax, msgpackDepthMax } from '../limits.ts'

/** Bytes that follow a head byte from 0xc0 on: a fixed payload, or the width of the length field. */
type Form =
  | { readonly kind: 'fixed'; readonly bytes: number }
  | { readonly kind: 'counted'; readonly width: 1 | 2 | 4; readonly unit: 'bytes' | 'values' | 'pairs' }
  | { readonly kind: 'refused' }

const fixed = (bytes: number): Form => ({ kind: 'fixed', bytes })
const counted = (width: 1 | 2 | 4, unit: 'bytes' | 'values' | 'pairs'): Form => ({ kind: 'counted', width, unit })
const refused: Form = { kind: 'refused' }

/** Heads 0xc0 to 0xdf in order: nil, (never used), false, true, bin, ext, float, uint, int, fixext, str, array, map. */
const forms: readonly Form[] = [
  ...[fixed(0), refused, fixed(0), fixed(0)],
  ...[counted(1, 'bytes'), counted(2, 'bytes'), counted(4, 'bytes')],
  ...[refused, refused, refused],
  ...[fixed(4), fixed(8)],
  ...[fixed(1), fixed(2), fixed(4), fixed(8)],
  ...[fixed(1), fixed(2), fixed(4), fixed(8)],
  ...[refused, refused, refused, refused, refused],
  ...[counted(1, 'bytes'), counted(2, 'bytes'), counted(4, 'bytes')],
  ...[counted(2, 'values'), counted(4, 'values')],
  ...[counted(2, 'pairs'), counted(4, 'pairs')],
]

/** The head of a value. */
export interface Head {
  /** Size of the head. */
  readonly bytes: number
  /** Bytes of text, binary data, or a number that follow it. */
  readonly payload: number
  /** Number of values that follow it. */
  readonly children: number
  readonly isArray: boolean
}

/** Where a head is read. */
export interface HeadPlace {
  readonly offset: number
  /** End of the received bytes. */
  readonly end: number
  /** Position of the bytes in the body, for errors. */
  readonly base: number
}

/** Reads the head at a position. Returns undefined if it is not complete yet. */
export function headOf(bytes: Uint8Array, { offset, end, base }: HeadPlace): Head | undefined {
  if (offset >= end) return undefined
  const head = bytes[offset]!
  if (head < 0x80 || head >= 0xe0) return scalar
  if (head < 0x90) return { bytes: 1, payload: 0, children: 2 * (head & 0x0f), isArray: false }
  if (head < 0xa0) return { bytes: 1, payload: 0, children: head & 0x0f, isArray: true }
  if (head < 0xc0) return { bytes: 1, payload: head & 0x1f, children: 0, isArray: false }
  const form = forms[head - 0xc0]!
  if (form.kind === 'refused') throw broken('holds an extension type or an unused code', base + offset)
  if (form.kind === 'fixed') return fixedHeads[form.bytes]
  if (offset + 1 + form.width > end) return undefined
  let count = 0
  for (let i = 1; i <= form.width; i++) count = count * 256 + bytes[offset + i]!
  const inBytes = form.unit === 'bytes'
  return {
    bytes: 1 + form.width,
    payload: inBytes ? count : 0,
    children: inBytes ? 0 : form.unit === 'pairs' ? 2 * count : count,
    isArray: form.unit === 'values',
  }
}

const scalar: Head = { bytes: 1, payload: 0, children: 0, isArray: false }
const fixedHeads: readonly Head[] = Array.from({ length: 9 }, (_, payload) => ({ ...scalar, payload }))

/** Limits of a MessagePack body. */
export interface ScanLimits {
  readonly depthMax: number
  readonly elementsMax: number
  /** Maximum number of arrays, maps, and their keys. */
  readonly nodesMax: number
}

/** A value as a part of the bytes, and whether it has binary values, which are views of the bytes when it is decoded. */
export interface ScannedValue {
  readonly end: number
  readonly hasBinary: boolean
}

/** Returns the first value. Throws `invalid_msgpack` if it is incomplete, too deep, or too large. */
export function scanMsgpack(
  bytes: Uint8Array,
  { depthMax, elementsMax, nodesMax }: ScanLimits = {
    depthMax: msgpackDepthMax,
    elementsMax: bodyElementsMax,
    nodesMax: bodyNodesMax,
  },
): ScannedValue {
  const open: number[] = []
  let hasBinary = false
  let offset = 0
  let elements = 0
  let nodes = 0
  for (;;) {
    const head = headOf(bytes, { offset, end: bytes.length, base: 0 })
    if (head === undefined) throw broken('ends in the middle of a value', bytes.length)
    const { children, isArray } = head
    const first = bytes[offset]!
    offset += head.bytes + head.payload
    if (offset > bytes.length) throw broken('ends in the middle of a value', bytes.length)
    if (children > bytes.length - offset)
      throw broken(`announces ${children} values, more than the remaining bytes can hold`, offset)
    elements += children
    if (elements > elementsMax) throw broken(`holds more than ${elementsMax} values`, offset)
    hasBinary ||= first >= 0xc4 && first <= 0xc6
    if (isContainer(first)) nodes += isArray ? 1 : 1 + children / 2
    if (nodes > nodesMax) throw broken(`holds more than ${nodesMax} arrays, maps and keys`, offset)
    if (children > 0) {
      open.push(children)
      if (open.length > depthMax) throw broken(`nests deeper than ${depthMax} levels`, offset)
      continue
    }
    while (open.length > 0 && open[open.length - 1] === 1) open.pop()
    if (open.length === 0) return { end: offset, hasBinary }
    open[open.length - 1]! -= 1
  }
}

function isContainer(head: number): boolean {
  return (head >= 0x80 && head <= 0x9f) || (head >= 0xdc && head <= 0xdf)
}

/** The error for invalid MessagePack at a position of the body. */
export function broken(how: string, offset: number): ServerError {
  return new ServerError('invalid_msgpack', `the MessagePack body ${how} (at byte ${offset})`, { field: 'body' })
}

/** Decodes the first value. Bytes after it are ignored. */
export function decodeMsgpack(bytes: Buffer): unknown {
  return decodeWhole(bytes).value
}

/** The same. With `hasViews`, parts of the value are views of the bytes. */
export function decodeWhole(bytes: Buffer): { readonly value: unknown; readonly hasViews: boolean } {
  const { end, hasBinary } = scanMsgpack(bytes)
  try {
    return { value: decode(bytes.subarray(0, end)), hasViews: hasBinary }
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof RangeError) && !(error instanceof TypeError)) throw error
    throw new ServerError('invalid_msgpack', 'the body is not valid MessagePack', { field: 'body' }, { cause: error })
  }
}
