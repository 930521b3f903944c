// Writes files that contain only vectors: NPY, fvecs and bvecs, with the ids in a separate file on request.
import { type FileHandle, open } from 'node:fs/promises'
import type { StoredObject } from '@annal/client'
import { usageError } from '../exit-code.ts'

export type VectorFormat = 'npy' | 'fvecs' | 'bvecs'

export interface VectorsOut {
  readonly format: VectorFormat
  readonly field: string
  readonly dimension: number
  /** Undefined if no ids are written. */
  readonly ids: string | undefined
}

const bytesBetweenWrites = 1 << 20

export async function writeVectors(
  file: string,
  { format, field, dimension, ids }: VectorsOut,
  objects: AsyncIterable<StoredObject>,
) {
  const vectors = await Output.open(file)
  const names = ids === undefined ? undefined : await Output.open(ids)
  try {
    // The number of rows is known only at the end; the header has room for any number.
    if (format === 'npy') await vectors.write(npyHeader(0, dimension))
    let rows = 0
    for await (const { id, dense } of objects) {
      const vector = dense[field]?.vector
      if (vector === undefined)
        throw usageError(`object ${id} has no vector in ${field}; export it as jsonl, csv or parquet`)
      if (names !== undefined && /[\r\n]/.test(id))
        throw usageError(`--ids: the id ${JSON.stringify(id)} has more than one line`)
      await vectors.write(rowBytes(vector, format, `object ${id}, ${field}`))
      await names?.write(Buffer.from(`${id}\n`))
      rows += 1
    }
    if (format === 'npy') await vectors.overwriteStart(npyHeader(rows, dimension))
    await vectors.finish()
    await names?.finish()
  } finally {
    await vectors.close()
    await names?.close()
  }
}

function rowBytes(vector: Float32Array, format: VectorFormat, where: string): Buffer {
  const numbers =
    format === 'bvecs' ? bytesOf(vector, where) : Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
  if (format === 'npy') return numbers
  const head = Buffer.alloc(4)
  head.writeInt32LE(vector.length)
  return Buffer.concat([head, numbers])
}

function bytesOf(vector: Float32Array, where: string): Buffer {
  return Buffer.from(
    vector.map((value, i) => {
      if (Number.isInteger(value) && value >= 0 && value <= 255) return value
      throw usageError(`${where}[${i}] is ${value}, but bvecs holds integers from 0 to 255; export it as fvecs or npy`)
    }),
  )
}

/** 128 bytes for any number of rows; see formats/rows.ts for the layout. */
function npyHeader(rows: number, dimension: number): Buffer {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimension}), }`
  const header = Buffer.alloc(128, ' ')
  header.write('\x93NUMPY\x01\x00', 'latin1')
  header.writeUInt16LE(header.length - 10, 8)
  header.write(text, 10)
  header.write('\n', header.length - 1)
  return header
}

/** A file that is written in blocks and synced at the end. */
class Output {
  readonly #handle: FileHandle
  #waiting: Buffer[] = []
  #bytes = 0

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(file: string): Promise<Output> {
    return new Output(await open(file, 'w'))
  }

  async write(bytes: Buffer): Promise<void> {
    this.#waiting.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes >= bytesBetweenWrites) await this.#flush()
  }

  async #flush(): Promise<void> {
    await this.#handle.writeFile(Buffer.concat(this.#waiting))
    this.#waiting = []
    this.#bytes = 0
  }

  async overwriteStart(bytes: Buffer): Promise<void> {
    await this.#flush()
    await this.#handle.write(bytes, 0, bytes.length, 0)
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#handle.sync()
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
