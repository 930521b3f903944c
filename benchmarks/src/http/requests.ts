// Requests in the form of the published clients.
import { encode } from '@msgpack/msgpack'

const meta = new Uint8Array(0)

export function createRequest(dimension: number): Buffer {
  const body = {
    index_name: 'a',
    dim: dimension,
    space_type: 'l2',
    M: 16,
    ef_con: 128,
    precision: 'int8',
    checksum: -1,
  }
  return post('/api/v1/index/create', 'application/json', Buffer.from(JSON.stringify(body)))
}

/** An insert of the Python client: a MessagePack array of tuples, with 32-bit floats. */
export function insertRequest(rows: Float32Array, dimension: number, first: number): Buffer {
  const tuples = Array.from({ length: rows.length / dimension }, (_, i) => [
    `${first + i}`,
    meta,
    '{}',
    1,
    Array.from(rows.subarray(i * dimension, (i + 1) * dimension)),
  ])
  const body = encode(tuples, { forceFloat32: true })
  return post('/api/v1/index/a/vector/insert', 'application/msgpack', Buffer.from(body))
}

/** A search of the JavaScript client. */
export function searchRequest(query: Float32Array, ef: number): Buffer {
  return search(JSON.stringify({ k: 10, ef, include_vectors: false, vector: Array.from(query) }))
}

/** A search of the Python client: every number has a decimal point, and every parameter is present. */
export function pythonSearchRequest(query: Float32Array, ef: number): Buffer {
  const numbers = Array.from(query, (x) => (Number.isInteger(x) ? `${x}.0` : `${x}`)).join(', ')
  return search(
    `{"k": 10, "ef": ${ef}, "include_vectors": false, "dense_rrf_weight": 0.5, "rrf_rank_constant": 60, "vector": [${numbers}]}`,
  )
}

export const infoRequest = Buffer.from('GET /api/v2/info HTTP/1.1\r\nHost: localhost\r\n\r\n')

function search(body: string): Buffer {
  return post('/api/v1/index/a/search', 'application/json', Buffer.from(body))
}

function post(path: string, type: string, body: Buffer): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Accept: application/json, text/plain, */*',
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}
