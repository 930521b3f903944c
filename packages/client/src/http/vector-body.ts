// The body of a search with one vector as bytes (docs/reference/http.md): the length of the parameters, the parameters as JSON, and the
// vector as 32-bit floats, all numbers little-endian. JSON would have up to 20 characters for each number.
import { jsonText } from './json-text.ts'
import type { HttpRequest } from './route.ts'

/** `parameters` is the JSON body of the same search without its vector, whose numbers were checked. */
export function postVector(path: string, parameters: unknown, vector: ArrayLike<number>): HttpRequest {
  const json = new TextEncoder().encode(jsonText(parameters, ''))
  const body = new Uint8Array(4 + json.length + 4 * vector.length)
  const view = new DataView(body.buffer)
  view.setUint32(0, json.length, true)
  body.set(json, 4)
  const from = 4 + json.length
  for (let i = 0; i < vector.length; i += 1) view.setFloat32(from + 4 * i, vector[i] as number, true)
  return { method: 'POST', path, body, contentType: 'application/octet-stream', accept: 'application/json' }
}
