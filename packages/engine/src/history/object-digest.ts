// The digest of what is stored of an object: two with the same digest have the same meta, filter values, vectors, and texts.
import { createHash } from 'node:crypto'
import type { StoredObject } from '../model/object.ts'
import { storedText } from '../model/stored-text.ts'

/** 16 bytes as text. */
export function objectDigest({ metaBytes, filterText, expiresAt, dense, sparse, multi, text }: StoredObject): string {
  const hash = createHash('sha256')
  const add = (bytes: Uint8Array) => hash.update(`${bytes.length}\n`).update(bytes)
  add(metaBytes)
  add(Buffer.from(storedText(filterText, expiresAt)))
  for (const [name, row] of Object.entries(dense)) addRow(name, row)
  for (const [name, { indices, values }] of Object.entries(sparse)) {
    hash.update(`sparse ${name}\n`)
    add(bytesOf(indices))
    add(bytesOf(values))
  }
  for (const [name, one] of Object.entries(text)) {
    hash.update(`text ${name}\n`)
    add(Buffer.from(one ?? ''))
  }
  for (const [name, members] of Object.entries(multi)) for (const row of members) addRow(name, row)
  return hash.digest('base64').slice(0, 22)

  function addRow(name: string, { vector, norm }: { readonly vector: Float32Array; readonly norm: number }): void {
    hash.update(`${name} ${norm}\n`)
    add(bytesOf(vector))
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
