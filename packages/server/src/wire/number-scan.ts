// The numbers of a question's vector, read from the bytes of its body straight into floats: as JSON.parse and Math.fround would
// give them, without a text and without an array of numbers. assembly/numbers.ts reads; what it leaves is parsed as ever.
import { instance } from './kernel.ts'
import { floatRoom, ScannedNumbers } from './numbers.ts'

/** assembly/numbers.ts has the same addresses. */
const textAt = 65_536
const floatsAt = 393_216
const textBytesMax = floatsAt - textAt - 1

interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** From behind the bracket; gives the address behind the closing one, or 0 where something is to be left to JSON.parse. */
  read(from: number): number
  count(): number
}

const scanner = await compiledScanner()

/** Undefined in a checkout where it was not compiled; then everything is parsed as usual. */
async function compiledScanner() {
  const exports = await instance<Scanner>('numbers')
  if (exports === undefined) return undefined
  const { memory, read, count } = exports
  return { bytes: new Uint8Array(memory.buffer), floats: new Float32Array(memory.buffer, floatsAt), read, count }
}

export interface Scanned {
  readonly numbers: ScannedNumbers
  /** Where the array stands in the body, brackets included. */
  readonly from: number
  readonly end: number
}

/** The array behind the first key of this name; undefined where there is none, or it holds what only JSON.parse can judge. */
export function scanNumbers(body: Buffer, key: string): Scanned | undefined {
  const from = arrayAfter(body, key)
  if (from === undefined || body.length - from > textBytesMax || scanner === undefined) return undefined
  scanner.bytes.set(body.subarray(from + 1), textAt)
  // No number and no blank goes on beyond it.
  scanner.bytes[textAt + body.length - from - 1] = 0
  const end = scanner.read(textAt)
  if (end === 0) return undefined
  const count = scanner.count()
  const floats = floatRoom(count)
  floats.set(scanner.floats.subarray(0, count))
  return { numbers: new ScannedNumbers(floats), from, end: from + 1 + end - textAt }
}

const colon = 0x3a
const bracket = 0x5b
const space = 0x20

/** Written as the published clients write it: a space at most. */
function arrayAfter(body: Buffer, key: string): number | undefined {
  const found = body.indexOf(key, 0, 'latin1')
  if (found < 0) return undefined
  let offset = found + key.length
  if (body[offset++] !== colon) return undefined
  if (body[offset] === space) offset++
  return body[offset] === bracket ? offset : undefined
}
