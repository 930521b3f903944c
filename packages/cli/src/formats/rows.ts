// Files that contain only vectors: NPY, fvecs and bvecs. Rows are read one by one; one block of the file is in memory.
import { type FileHandle, open } from 'node:fs/promises'
import { usageError } from '../exit-code.ts'

export interface RowFile {
  readonly dimension: number
  readonly rows: number
  /** Each vector has its own memory. */
  read(firstRow: number): AsyncGenerator<Float32Array>
}

const pieceBytes = 1 << 20

/**
 * NPY, version 1 to 3:
 *
 *   0x93 "NUMPY" | major u8 | minor u8 | header length u16 (u32 from version 2) | header | rows
 *
 * with a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }.
 */
export async function openNpy(file: string): Promise<RowFile> {
  const head = await readHead(file, 12)
  if (head.toString('latin1', 0, 6) !== '\x93NUMPY') throw usageError(`${file} is not an NPY file`)
  const wide = (head[6] as number) >= 2
  const start = wide ? 12 : 10
  const length = wide ? head.readUInt32LE(8) : head.readUInt16LE(8)
  const header = (await readHead(file, start + length)).toString('latin1', start)
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? ''
  const shape = /'shape':\s*\((\d+),\s*(\d+),?\)/.exec(header)
  if (shape === null || /'fortran_order':\s*True/.test(header)) {
    throw usageError(`${file} is not a matrix with one vector per row: ${header.trim()}`)
  }
  const element = elements[kind]
  if (element === undefined)
    throw usageError(`${file} has the data type ${kind}; supported: ${Object.keys(elements).join(', ')}`)
  const [rows, dimension] = [Number(shape[1]), Number(shape[2])]
  return {
    dimension,
    rows,
    read: (from) => readRows(file, { start: start + length, skip: 0, dimension, element, rows }, from),
  }
}

/** Vectors one after the other, each preceded by its dimension as a 32-bit number: float32 in fvecs, bytes in bvecs. */
export async function openVecs(file: string, kind: 'fvecs' | 'bvecs'): Promise<RowFile> {
  const dimension = (await readHead(file, 4)).readInt32LE(0)
  const element = elements[kind === 'fvecs' ? '<f4' : '|u1'] as Element
  const rowBytes = 4 + dimension * element.bytes
  const bytes = await sizeOf(file)
  if (dimension < 1 || bytes % rowBytes !== 0)
    throw usageError(`${file} is not a ${kind} file: its size is not a multiple of the vector size`)
  const rows = bytes / rowBytes
  return { dimension, rows, read: (from) => readRows(file, { start: 0, skip: 4, dimension, element, rows }, from) }
}

interface Element {
  readonly bytes: number
  read(from: DataView, offset: number): number
}

const elements: { readonly [kind: string]: Element } = {
  '<f4': { bytes: 4, read: (from, offset) => from.getFloat32(offset, true) },
  '<f8': { bytes: 8, read: (from, offset) => from.getFloat64(offset, true) },
  '|u1': { bytes: 1, read: (from, offset) => from.getUint8(offset) },
  '|i1': { bytes: 1, read: (from, offset) => from.getInt8(offset) },
  '<i2': { bytes: 2, read: (from, offset) => from.getInt16(offset, true) },
  '<i4': { bytes: 4, read: (from, offset) => from.getInt32(offset, true) },
}

interface Layout {
  /** The offset of the first row. */
  readonly start: number
  /** Bytes before the numbers of each row. */
  readonly skip: number
  readonly dimension: number
  readonly element: Element
  readonly rows: number
}

async function* readRows(
  file: string,
  { start, skip, dimension, element, rows }: Layout,
  firstRow: number,
): AsyncGenerator<Float32Array> {
  const rowBytes = skip + dimension * element.bytes
  const rowsOfPiece = Math.max(1, Math.floor(pieceBytes / rowBytes))
  const piece = Buffer.alloc(rowsOfPiece * rowBytes)
  const view = new DataView(piece.buffer, piece.byteOffset, piece.byteLength)
  const handle = await open(file)
  try {
    for (let done = firstRow; done < rows; done += rowsOfPiece) {
      const count = Math.min(rowsOfPiece, rows - done)
      await readWhole(handle, piece.subarray(0, count * rowBytes), start + done * rowBytes, file)
      for (let row = 0; row < count; row += 1) {
        const offset = row * rowBytes + skip
        yield Float32Array.from({ length: dimension }, (_, i) => element.read(view, offset + i * element.bytes))
      }
    }
  } finally {
    await handle.close()
  }
}

async function readWhole(handle: FileHandle, into: Buffer, position: number, file: string): Promise<void> {
  const { bytesRead } = await handle.read(into, 0, into.length, position)
  if (bytesRead < into.length) throw usageError(`${file} ends too early`)
}

async function readHead(file: string, bytes: number): Promise<Buffer> {
  const handle = await open(file)
  try {
    const head = Buffer.alloc(bytes)
    await readWhole(handle, head, 0, file)
    return head
  } finally {
    await handle.close()
  }
}

async function sizeOf(file: string): Promise<number> {
  const handle = await open(file)
  try {
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}
