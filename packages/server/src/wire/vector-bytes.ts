// Vectors as 32-bit floats in little-endian byte order: binary data of MessagePack, base64 text of JSON, and the body of a search that
// is only bytes. Each takes four bytes for a number, and nothing has to be parsed.
import { invalidArgument } from '../errors.ts'
import { floatRoom, floatsFrom, notFinite } from './numbers.ts'

const floatBytes = 4
/** The bits of the exponent, which are all set in infinities and NaN. */
const exponentBits = 0x7f80_0000

/** The vector in these bytes, as a copy. Throws invalid_argument unless they are whole, finite floats. */
export function floatsOfBytes(
  bytes: Uint8Array,
  field: string,
  room: (length: number) => Float32Array = floatRoom,
): Float32Array {
  if (bytes.length % floatBytes !== 0) {
    const message = `${field} has ${bytes.length} bytes, which is not a whole number of 32-bit floats`
    throw invalidArgument(message, { field, value: bytes.length, limit: floatBytes })
  }
  const floats = copyFloats(bytes, room)
  const i = firstNotFinite(floats)
  if (i >= 0) throw notFinite(`${field}[${i}]`, String(floats[i]))
  return floats
}

/** Copies the bytes, whose number is a multiple of 4, to aligned floats. The processors that Annal runs on are little-endian. */
export function copyFloats(bytes: Uint8Array, room: (length: number) => Float32Array = floatRoom): Float32Array {
  const floats = room(bytes.length / floatBytes)
  new Uint8Array(floats.buffer, floats.byteOffset, bytes.length).set(bytes)
  return floats
}

/** Position of the first infinity or NaN; -1 if all numbers are finite. */
export function firstNotFinite(floats: Float32Array): number {
  const bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length)
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & exponentBits) === exponentBits) return i
  return -1
}

/** The vector in a text of base64 (RFC 4648, standard alphabet, with padding). Throws invalid_argument. */
function floatsOfBase64(text: string, field: string): Float32Array {
  const bytes = bytesOfBase64(text)
  if (bytes === undefined)
    throw invalidArgument(`${field} must be an array of numbers, or 32-bit floats in base64`, { field, value: text })
  return floatsOfBytes(bytes, field)
}

/** Undefined if the text is not exactly what an encoder writes, because a decoder that guesses would change numbers silently. */
export function bytesOfBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Converts the value of a vector: an array of numbers, base64 text, or bytes. */
export function vectorFrom(value: unknown, field: string): Float32Array {
  if (typeof value === 'string') return floatsOfBase64(value, field)
  return value instanceof Uint8Array ? floatsOfBytes(value, field) : floatsFrom(value, field)
}

/** Whether the value is a list of vectors rather than one vector. */
export function isVectorList(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  const first: unknown = value[0]
  return Array.isArray(first) || typeof first === 'string' || first instanceof Uint8Array
}

/** Converts several vectors. The engine checks their number and length. */
export function vectorsFrom(value: unknown, field: string): Float32Array[] {
  if (!Array.isArray(value)) throw invalidArgument(`${field} must be an array of vectors`, { field, value })
  const items: readonly unknown[] = value
  return items.map((item, i) => vectorFrom(item, `${field}[${i}]`))
}

/** Size of the length with which a body of bytes begins; see vector-body.ts. */
export const parametersAt = 4

/** Where the vector begins in a body of bytes, which may be behind its end. Undefined if the length is not complete. */
export function vectorOffset(body: Buffer): number | undefined {
  return body.length < parametersAt ? undefined : parametersAt + body.readUInt32LE(0)
}
