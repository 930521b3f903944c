// The record of an object: meta, filter text, sparse terms, and texts. The owner of the objects and the readers of other threads read it.
//
//   record: | u32 bytes of meta | u32 bytes of filter | u32 fields with terms | meta | filter, zero padded to 4 |
//           then for each of these fields: | u32 field | u32 terms | u32 index of each term | f32 value of each term |
//           and if bit 31 of the field is set, its text: | u32 bytes | UTF-8, zero padded to 4 |

/** Bytes before the meta of a record. */
export const headBytes = 12
const textEncoder = new TextEncoder()
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** Bit 31 of the number of a field. */
const hasText = 2 ** 31

/** The terms of an object in one sparse field, by ascending index. */
export interface SparseTermsOfField {
  readonly field: number
  readonly indices: Uint32Array
  readonly values: Float32Array
  /** Only in a text field. */
  readonly text?: string
}

/** The parts of an object's record. */
export interface ObjectParts {
  readonly meta: Uint8Array
  readonly filter: string
  readonly sparse: readonly SparseTermsOfField[]
}

/** Offset of the sparse fields in a record. `textBytes` are those of meta and filter. */
export function sparseStart(textBytes: number): number {
  return headBytes + padded(textBytes)
}

/** The sparse terms of a number of fields, from a copy of the end of a record. Undefined: a length leaves the record. */
export function sparseTermsIn(copy: Uint8Array<ArrayBuffer>, fields: number): SparseTermsOfField[] | undefined {
  const words = new Uint32Array(copy.buffer, 0, copy.length >>> 2)
  const found: SparseTermsOfField[] = []
  for (let at = 0, i = 0; i < fields; i++) {
    const [head, terms] = [words[at], words[at + 1]]
    if (head === undefined || terms === undefined) return undefined
    const to = at + 2 + 2 * terms
    if (to > words.length) return undefined
    const values = new Float32Array(copy.buffer, (at + 2 + terms) * 4, terms)
    const entry = { indices: words.slice(at + 2, at + 2 + terms), values: values.slice() }
    if (head < hasText) {
      found.push({ field: head, ...entry })
      at = to
      continue
    }
    const bytes = words[to]
    if (bytes === undefined || to + 1 + padded(bytes) / 4 > words.length) return undefined
    const text = textDecoder.decode(copy.subarray((to + 1) * 4, (to + 1) * 4 + bytes))
    found.push({ field: head - hasText, ...entry, text })
    at = to + 1 + padded(bytes) / 4
  }
  return found
}

/** Records up to about this size share one buffer, because an allocation for each costs more than writing it. */
const scratchBytes = 65_536
const scratch = new Uint8Array(scratchBytes)

/** The bytes of a record, valid until the next call. */
export function recordOf({ meta, filter, sparse }: ObjectParts): Uint8Array {
  const sparseBytes = sparse.reduce(
    (sum, { indices, text }) => sum + 8 + indices.length * 8 + (text === undefined ? 0 : 8 + 3 * text.length),
    0,
  )
  // One unit of a text takes at most three bytes.
  const bytesMax = headBytes + padded(meta.length + 3 * filter.length) + sparseBytes
  const bytes = bytesMax <= scratchBytes ? scratch : new Uint8Array(bytesMax)
  const textAt = headBytes + meta.length
  const { written } = textEncoder.encodeInto(filter, bytes.subarray(textAt))
  const sparseAt = headBytes + padded(meta.length + written)
  new Uint32Array(bytes.buffer, 0, 3).set([meta.length, written, sparse.length])
  bytes.set(meta, headBytes)
  bytes.fill(0, textAt + written, sparseAt)
  let offset = sparseAt
  for (const { field, indices, values, text } of sparse) {
    new Uint32Array(bytes.buffer, offset, 2).set([text === undefined ? field : field + hasText, indices.length])
    new Uint32Array(bytes.buffer, offset + 8, indices.length).set(indices)
    new Float32Array(bytes.buffer, offset + 8 + indices.length * 4, indices.length).set(values)
    offset += 8 + indices.length * 8
    if (text !== undefined) offset += putText(bytes, offset, text)
  }
  return bytes.subarray(0, offset)
}

/** Writes a text with its length, padded; returns the bytes that it took. */
function putText(bytes: Uint8Array, at: number, text: string): number {
  const { written } = textEncoder.encodeInto(text, bytes.subarray(at + 4))
  new Uint32Array(bytes.buffer, at, 1)[0] = written
  const end = 4 + padded(written)
  bytes.fill(0, at + 4 + written, at + end)
  return end
}

/** Upper bound of the bytes of a text in a record, for reserving memory. */
export function textBytes(text: string): number {
  return 8 + 3 * text.length
}

/** Bytes of a record, for reserving memory. */
export function recordBytes(meta: number, filter: number, sparseTerms: number, sparseFields: number): number {
  return headBytes + padded(meta + filter) + sparseFields * 8 + sparseTerms * 8
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4
}
