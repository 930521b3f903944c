// Checks the columns of an Arrow batch before its values are read: offsets rise and stay inside, and every column has the bytes that its
// length needs. The library reads any number as an offset.
import { type Data, DataType } from 'apache-arrow'

/** More than any cell that a server accepts. */
const cellBytesMax = 64 * 1024 * 1024

/** Throws an Error that names the column. `name` is empty for a batch. */
export function checkData(data: Data, name = ''): void {
  const { type, length, nullBitmap, children } = data
  const need = (what: string, has: number, needs: number) => {
    if (has < needs) throw new Error(`column ${name} has ${has} ${what}, and needs ${needs}`)
  }
  if (data.nullCount > 0) need('bits of validity', (nullBitmap?.byteLength ?? 0) * 8, length)
  if (DataType.isNull(type)) return
  if (DataType.isDictionary(type)) {
    checkDictionary(data, name)
  } else if (DataType.isUnion(type)) {
    need('types', data.typeIds?.length ?? 0, length)
  } else if (DataType.isStruct(type)) {
    for (const child of children) need('values', child.length, length)
  } else if (DataType.isFixedSizeList(type)) {
    need('values', children[0]?.length ?? 0, length * type.listSize)
  } else if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isMap(type)) {
    checkOffsets(data, name, children[0]?.length ?? 0)
  } else if (
    DataType.isUtf8(type) ||
    DataType.isBinary(type) ||
    DataType.isLargeUtf8(type) ||
    DataType.isLargeBinary(type)
  ) {
    checkOffsets(data, name, (data.values as Uint8Array | undefined)?.length ?? 0)
  } else if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) {
    checkViews(data, name)
  } else if (DataType.isBool(type)) {
    need('bits', ((data.values as Uint8Array | undefined)?.byteLength ?? 0) * 8, length)
  } else {
    need('numbers', (data.values as ArrayLike<unknown> | undefined)?.length ?? 0, length * data.stride)
  }
  for (const [i, child] of children.entries()) {
    const own = type.children?.[i]?.name ?? String(i)
    checkData(child, name === '' ? own : `${name}.${own}`)
  }
}

/** Offsets of lists and texts. */
function checkOffsets({ length, valueOffsets }: Data, name: string, values: number): void {
  if (length === 0) return
  const offsets = valueOffsets as Int32Array | BigInt64Array | undefined
  if (offsets === undefined || offsets.length < length + 1) throw new Error(`column ${name} has not enough offsets`)
  let before = 0
  for (let i = 0; i <= length; i += 1) {
    const offset = Number(offsets[i])
    if (offset < before || offset > values)
      throw new Error(`column ${name} has the offset ${offset} after ${before}, with ${values} values`)
    before = offset
  }
}

/** length i32 | 12 bytes, or the first 4 of them, buffer i32, offset i32 */
function checkViews({ length, values, variadicBuffers }: Data, name: string): void {
  const bytes = values as Uint8Array | undefined
  if ((bytes?.byteLength ?? 0) < length * 16) throw new Error(`column ${name} has not enough values`)
  if (bytes === undefined) return
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let place = 0; place < length * 16; place += 16) {
    const size = view.getInt32(place, true)
    if (size < 0 || size > cellBytesMax) throw new Error(`column ${name} has a value of ${size} bytes`)
    if (size <= 12) continue
    const buffer = variadicBuffers[view.getInt32(place + 8, true)]
    const offset = view.getInt32(place + 12, true)
    if (buffer === undefined || offset < 0 || offset + size > buffer.byteLength)
      throw new Error(`column ${name} has a value outside its buffers`)
  }
}

function checkDictionary(data: Data, name: string): void {
  const { length, dictionary } = data
  if (dictionary === undefined) throw new Error(`column ${name} has no dictionary`)
  for (const part of dictionary.data) checkData(part, name)
  const indices = data.values as ArrayLike<number | bigint>
  if (indices.length < length) throw new Error(`column ${name} has ${indices.length} numbers, and needs ${length}`)
  for (let i = 0; i < length; i += 1) {
    if (!data.getValid(i)) continue
    const index = Number(indices[i])
    if (index < 0 || index >= dictionary.length)
      throw new Error(`column ${name} refers to entry ${index} of a dictionary of ${dictionary.length}`)
  }
}
