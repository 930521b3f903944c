// Reads the numbers of a query vector from the bytes of a body directly into floats, without a text and without an array of
// numbers. The result is what JSON.parse and Math.fround return. assembly/numbers.ts reads them; JSON.parse reads what it cannot.
import { instance } from './kernel.ts'
import { floatRoom, ScannedNumbers } from './numbers.ts'

/** The same addresses as in assembly/numbers.ts. */
const textAt = 65_536
const floatsAt = 393_216
const textBytesMax = floatsAt - textAt - 1

interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer }
  /**
   * `from` is the address after the opening bracket. Returns the address after the closing bracket, or 0 if JSON.parse must read
   * the array.
   */
  read(from: number): number
  count(): number
}

const scanner = await compiledScanner()

/** Undefined in a checkout where it is not compiled; then JSON.parse reads every body. */
async function compiledScanner() {
  const exports = await instance<Scanner>('numbers')
  if (exports === undefined) return undefined
  const { memory, read, count } = exports
  return { bytes: new Uint8Array(memory.buffer), floats: new Float32Array(memory.buffer, floatsAt), read, count }
}

/** Numbers that were read, and where they were. */
export interface Scanned {
  readonly numbers: ScannedNumbers
  /** Position of the array in the body, including the brackets. */
  readonly from: number
  readonly end: number
}

/** The array after the first key of this name. Returns undefined if there is none or if only JSON.parse can read it. */
export function scanNumbers(body: Buffer, key: string): Scanned | undefined {
  const from = arrayAfter(body, key)
  const scanned = from === undefined ? undefined : scanArray(body, from)
  return scanned && { numbers: new ScannedNumbers(scanned.floats), from: from!, end: scanned.end }
}

/** The array whose opening bracket is at `from`, and where it ends. Returns undefined if only JSON.parse can read it. */
export function scanArray(
  body: Buffer,
  from: number,
): { readonly floats: Float32Array; readonly end: number } | undefined {
  if (body.length - from > textBytesMax || scanner === undefined) return undefined
  scanner.bytes.set(body.subarray(from + 1), textAt)
  // A byte that ends every number and every run of blanks.
  scanner.bytes[textAt + body.length - from - 1] = 0
  const end = scanner.read(textAt)
  if (end === 0) return undefined
  const count = scanner.count()
  const floats = floatRoom(count)
  floats.set(scanner.floats.subarray(0, count))
  return { floats, end: from + 1 + end - textAt }
}

const colon = 0x3a
const bracket = 0x5b
const space = 0x20

/** Finds the array in the form that the published clients write: at most one space after the colon. */
function arrayAfter(body: Buffer, key: string): number | undefined {
  const found = body.indexOf(key, 0, 'latin1')
  if (found < 0) return undefined
  let offset = found + key.length
  if (body[offset++] !== colon) return undefined
  if (body[offset] === space) offset++
  return body[offset] === bracket ? offset : undefined
}
