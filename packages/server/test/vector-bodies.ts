// Vectors as clients send them: numbers, bytes, base64, and the body of a search that is only bytes.

/** The vector as 32-bit floats in little-endian byte order. */
export function bytesOf(vector: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(vector).buffer)
}

export function base64Of(vector: readonly number[]): string {
  return Buffer.from(bytesOf(vector)).toString('base64')
}

/** The body of a search of type application/octet-stream. */
export function vectorBody(parameters: object | string, vector: Uint8Array): Buffer {
  const json = Buffer.from(typeof parameters === 'string' ? parameters : JSON.stringify(parameters))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  return Buffer.concat([length, json, vector])
}
