// Inserts of objects as clients send them: MessagePack with vectors as arrays of 32-bit floats, as the Python client writes them, or as
// binary data, as the clients of Annal do. A general encoder would write whole numbers as integers.
import { encode } from '@msgpack/msgpack'

export type VectorForm = 'floats' | 'bytes'

export interface Inserted {
  readonly rows: Float32Array
  readonly dimension: number
  /** The id of the first object. */
  readonly first: number
}

export function insertRequest({ rows, dimension, first }: Inserted, form: VectorForm): Buffer {
  const pieces = [arrayHead(rows.length / dimension)]
  for (let i = 0; i < rows.length / dimension; i++) {
    const vector = rows.slice(i * dimension, (i + 1) * dimension)
    const parts = [`${first + i}`, new Uint8Array(0), '{}', 1].map((part) => encode(part))
    const written = form === 'floats' ? floats(vector) : encode(new Uint8Array(vector.buffer))
    pieces.push(arrayHead(parts.length + 1), ...parts.map((part) => Buffer.from(part)), Buffer.from(written))
  }
  const body = Buffer.concat(pieces)
  const head = [
    'POST /api/v1/index/a/vector/insert HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/msgpack',
    `Content-Length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

function arrayHead(count: number): Buffer {
  const head = Buffer.from([0xdd, 0, 0, 0, 0])
  head.writeUInt32BE(count, 1)
  return head
}

function floats(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(5 + vector.length * 5, 0xca)
  bytes.set(arrayHead(vector.length))
  for (const [i, value] of vector.entries()) bytes.writeFloatBE(value, 6 + i * 5)
  return bytes
}
