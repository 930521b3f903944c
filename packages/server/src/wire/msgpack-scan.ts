// Looks at MessagePack bytes before anything is made of them: how deep they nest, whether every announced count can fit
// into the bytes that follow, where the first value ends. A few bytes can announce billions of elements, and a decoder
// that believes them takes the process down; after this scan a decoder may believe them.
import { ServerError } from '../errors.ts'
import { msgpackDepthMax, msgpackElementsMax } from '../limits.ts'

/** Bytes that follow a head byte from 0xc0 on: fixed payload, or the width of a length that tells it. */
type Form =
  | { readonly kind: 'fixed'; readonly bytes: number }
  | { readonly kind: 'counted'; readonly width: 1 | 2 | 4; readonly of: 'bytes' | 'values' | 'pairs' }
  | { readonly kind: 'refused' }

const fixed = (bytes: number): Form => ({ kind: 'fixed', bytes })
const counted = (width: 1 | 2 | 4, of: 'bytes' | 'values' | 'pairs'): Form => ({ kind: 'counted', width, of })
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

export interface ScanLimits {
  readonly depthMax: number
  readonly elementsMax: number
}

/** Returns where the first value ends; throws `invalid_msgpack` when the bytes hold no complete, modest value. */
export function scanMsgpack(
  bytes: Uint8Array,
  { depthMax, elementsMax }: ScanLimits = { depthMax: msgpackDepthMax, elementsMax: msgpackElementsMax },
): number {
  const open: number[] = []
  let at = 0
  let elements = 0
  for (;;) {
    if (at >= bytes.length) throw broken('ends in the middle of a value', at)
    const head = bytes[at]!
    at += 1
    let children = 0
    if (head < 0x80 || head >= 0xe0) children = 0
    else if (head < 0x90) children = 2 * (head & 0x0f)
    else if (head < 0xa0) children = head & 0x0f
    else if (head < 0xc0) at += head & 0x1f
    else {
      const form = forms[head - 0xc0]!
      if (form.kind === 'refused') throw broken('holds an extension type or an unused code', at - 1)
      if (form.kind === 'fixed') at += form.bytes
      else {
        const count = readCount(bytes, at, form.width)
        at += form.width
        if (form.of === 'bytes') at += count
        else children = form.of === 'pairs' ? 2 * count : count
      }
    }
    if (at > bytes.length) throw broken('ends in the middle of a value', bytes.length)
    if (children > bytes.length - at) throw broken(`announces ${children} values where they cannot fit`, at)
    elements += children
    if (elements > elementsMax) throw broken(`holds more than ${elementsMax} values`, at)
    if (children > 0) {
      open.push(children)
      if (open.length > depthMax) throw broken(`nests deeper than ${depthMax} levels`, at)
      continue
    }
    while (open.length > 0 && open[open.length - 1] === 1) open.pop()
    if (open.length === 0) return at
    open[open.length - 1]! -= 1
  }
}

function readCount(bytes: Uint8Array, at: number, width: 1 | 2 | 4): number {
  if (at + width > bytes.length) throw broken('ends in the middle of a value', bytes.length)
  let count = 0
  for (let i = 0; i < width; i++) count = count * 256 + bytes[at + i]!
  return count
}

function broken(how: string, offset: number): ServerError {
  return new ServerError('invalid_msgpack', `the MessagePack body ${how} (at byte ${offset})`, { field: 'body' })
}
