// Files that contain only vectors: NPY, fvecs and bvecs. Rows are read one by one; one block of the file is in memory.
import { type FileHandle, open } from 'node:fs/promises'
import { dataError } from '../exit-code.ts'
import { fromHalf } from './half.ts'

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
 * with a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }. In Fortran order, the first numbers of all rows come
 * first, then the second ones.
 */
export async function openNpy(file: string): Promise<RowFile> {
  const head = await readHead(file, 12)
  if (head.toString('latin1', 0, 6) !== '\x93NUMPY') throw dataError(`${file} is not an NPY file`)
  const wide = (head[6] as number) >= 2
  const start = wide ? 12 : 10
  const length = wide ? head.readUInt32LE(8) : head.readUInt16LE(8)
  if (length > headerBytesMax)
    throw dataError(`${file} has a header of ${length} bytes; the limit is ${headerBytesMax}`)
  const header = (await readHead(file, start + length)).toString('latin1', start)
  const kind = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? ''
  const shape = /'shape':\s*\((\d+),\s*(\d+),?\)/.exec(header)
  if (shape === null) {
    throw dataError(`${file} is not a matrix with one vector per row: ${JSON.stringify(header.trim().slice(0, 200))}`)
  }
  const element = Object.hasOwn(elements, kind) ? elements[kind] : undefined
  if (element === undefined)
    throw dataError(`${file} has the data type ${kind}; supported: ${Object.keys(elements).join(', ')}`)
  const [rows, dimension] = [Number(shape[1]), Number(shape[2])]
  checkDimension(file, dimension)
  const layout = { start: start + length, skip: 0, dimension, element, rows }
  const bytes = await sizeOf(file)
  const needed = layout.start + rows * dimension * element.bytes
  if (bytes < needed)
    throw dataError(`${file} ends too early: ${rows} rows of ${dimension} numbers need ${needed} bytes, not ${bytes}`)
  const read = /'fortran_order':\s*True/.test(header) ? readColumns : readRows
  return { dimension, rows, read: (from) => read(file, layout, from) }
}

/** Vectors one after the other, each preceded by its dimension as a 32-bit number: float32 in fvecs, bytes in bvecs. */
export async function openVecs(file: string, kind: 'fvecs' | 'bvecs'): Promise<RowFile> {
  const dimension = (await readHead(file, 4)).readInt32LE(0)
  checkDimension(file, dimension)
  const element = elements[kind === 'fvecs' ? '<f4' : '|u1'] as Element
  const rowBytes = 4 + dimension * element.bytes
  const bytes = await sizeOf(file)
  if (bytes % rowBytes !== 0)
    throw dataError(`${file} is not a ${kind} file: its size is not a multiple of the vector size`)
  const rows = bytes / rowBytes
  return { dimension, rows, read: (from) => readRows(file, { start: 0, skip: 4, dimension, element, rows }, from) }
}

/** NumPy writes a few hundred bytes. */
const headerBytesMax = 65_536
/** The limit of a server. */
const dimensionMax = 10_000

function checkDimension(file: string, dimension: number): void {
  if (dimension >= 1 && dimension <= dimensionMax) return
  throw dataError(`${file} has vectors of ${dimension} numbers; the limits are 1 and ${dimensionMax}`)
}

interface Element {
  readonly bytes: number
  read(from: DataView, offset: number): number
}

const elements: { readonly [kind: string]: Element } = {
  '<f2': { bytes: 2, read: (from, offset) => fromHalf(from.getUint16(offset, true)) },
  '>f2': { bytes: 2, read: (from, offset) => fromHalf(from.getUint16(offset)) },
  '>f4': { bytes: 4, read: (from, offset) => from.getFloat32(offset) },
  '>f8': { bytes: 8, read: (from, offset) => from.getFloat64(offset) },
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
        // The dimension before the numbers of fvecs and bvecs.
        if (skip === 4 && view.getInt32(offset - skip, true) !== dimension) {
          throw dataError(
            `${file}, row ${done + row + 1}: ${view.getInt32(offset - skip, true)} numbers, not ${dimension}`,
          )
        }
        yield Float32Array.from({ length: dimension }, (_, i) => element.read(view, offset + i * element.bytes))
      }
    }
  } finally {
    await handle.close()
  }
}

const blockBytes = 16 * pieceBytes

/** Rows of a matrix in Fortran order: the same rows of each column are read into one block. */
async function* readColumns(
  file: string,
  { start, dimension, element, rows }: Layout,
  firstRow: number,
): AsyncGenerator<Float32Array> {
  const rowsOfBlock = Math.max(1, Math.min(rows, Math.floor(blockBytes / (dimension * element.bytes))))
  const block = Buffer.alloc(rowsOfBlock * dimension * element.bytes)
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  const handle = await open(file)
  try {
    for (let done = firstRow; done < rows; done += rowsOfBlock) {
      const count = Math.min(rowsOfBlock, rows - done)
      const columnBytes = count * element.bytes
      for (let column = 0; column < dimension; column += 1) {
        const into = block.subarray(column * columnBytes, (column + 1) * columnBytes)
        await readWhole(handle, into, start + (column * rows + done) * element.bytes, file)
      }
      for (let row = 0; row < count; row += 1) {
        yield Float32Array.from({ length: dimension }, (_, i) =>
          element.read(view, i * columnBytes + row * element.bytes),
        )
      }
    }
  } finally {
    await handle.close()
  }
}

async function readWhole(handle: FileHandle, into: Buffer, position: number, file: string): Promise<void> {
  const { bytesRead } = await handle.read(into, 0, into.length, position)
  if (bytesRead < into.length) throw dataError(`${file} ends too early`)
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
