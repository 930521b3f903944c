// The body of a search whose vector is sent as bytes (application/octet-stream):
//
//   n: u32 | parameters: n bytes of JSON | vector: 32-bit floats to the end of the body           (all numbers little-endian)
//
// The parameters are the JSON body of the same route without the vector. With n = 0 they are {}. A search of a collection names its only
// field in them: {"fields":{"title":{"limit":10}}}.
import { invalidArgument } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { parseJsonBody, type VectorKey } from './json-body.ts'
import { parametersAt, vectorOffset } from './vector-bytes.ts'

/** Media type of these bodies. */
export const vectorBodyType = 'application/octet-stream'

/** The value that the same search has as JSON, with the vector as bytes. Throws invalid_argument, invalid_json, limit_exceeded. */
export function parseVectorBody(body: Buffer, key: VectorKey): unknown {
  const vectorAt = vectorOffset(body)
  if (vectorAt === undefined || vectorAt > body.length) {
    const message = 'the body must begin with the length of its parameters as 32 bits, and have that many bytes'
    throw invalidArgument(message, { field: 'body', value: body.length, limit: vectorAt ?? parametersAt })
  }
  const parameters = vectorAt === parametersAt ? {} : parseJsonBody(body.subarray(parametersAt, vectorAt))
  if (!isObject(parameters)) throw invalidArgument('the parameters must be an object', { field: 'body' })
  const place: Record<string, unknown> = key === '"vector"' ? parameters : onlyField(parameters.fields)
  const name = key.slice(1, -1)
  if (place[name] !== undefined) {
    const message = `${name} must be absent from the parameters, because the body contains it as bytes`
    throw invalidArgument(message, { field: name })
  }
  place[name] = body.subarray(vectorAt)
  return parameters
}

function onlyField(fields: unknown): Record<string, unknown> {
  const values = isObject(fields) ? Object.values(fields) : []
  const [only] = values
  if (values.length === 1 && isObject(only)) return only
  throw invalidArgument('the parameters must name one field, as in {"fields":{"title":{}}}', {
    field: 'fields',
    value: values.length,
    limit: 1,
  })
}
