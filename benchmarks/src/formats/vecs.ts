// fvecs, ivecs, and bvecs, the formats of the TEXMEX sets: vectors one after another, each preceded by its dimension as a 32-bit integer.
import { readFile, writeFile } from 'node:fs/promises'

export interface Rows<T> {
  readonly dimension: number
  /** Row-major. */
  readonly values: T
}

type Values = Float32Array | Int32Array | Uint8Array

const kinds = { fvecs: Float32Array, ivecs: Int32Array, bvecs: Uint8Array } as const
export type VecsKind = keyof typeof kinds

function vecsKindOf(path: string): VecsKind {
  const kind = /\.(fvecs|ivecs|bvecs)$/.exec(path)?.[1]
  if (kind === undefined) throw new Error(`${path} must have the extension fvecs, ivecs, or bvecs`)
  return kind as VecsKind
}

export async function readVecs(path: string): Promise<Rows<Values>> {
  const kind = kinds[vecsKindOf(path)]
  const bytes = await readFile(path)
  const dimension = bytes.length < 4 ? 0 : bytes.readInt32LE(0)
  const rowBytes = 4 + dimension * kind.BYTES_PER_ELEMENT
  if (dimension < 1 || bytes.length % rowBytes !== 0)
    throw new Error(`${path}: the size is not a multiple of a row of ${dimension} numbers`)
  const rows = bytes.length / rowBytes
  const values = new kind(rows * dimension)
  const target = new Uint8Array(values.buffer)
  for (let row = 0; row < rows; row++) {
    const offset = row * rowBytes
    if (bytes.readInt32LE(offset) !== dimension)
      throw new Error(`${path}: row ${row} has a different dimension than the first row`)
    target.set(bytes.subarray(offset + 4, offset + rowBytes), row * (rowBytes - 4))
  }
  return { dimension, values }
}

export async function writeVecs(path: string, { dimension, values }: Rows<Values>): Promise<void> {
  if (!(values instanceof kinds[vecsKindOf(path)]))
    throw new Error(`${path}: the type of its numbers does not match its extension`)
  const rowBytes = dimension * values.BYTES_PER_ELEMENT
  const source = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const bytes = Buffer.alloc((values.length / dimension) * (4 + rowBytes))
  for (let row = 0; row * dimension < values.length; row++) {
    const offset = row * (4 + rowBytes)
    bytes.writeInt32LE(dimension, offset)
    bytes.set(source.subarray(row * rowBytes, (row + 1) * rowBytes), offset + 4)
  }
  await writeFile(path, bytes)
}
