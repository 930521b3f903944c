// The heads of MessagePack values, written at an offset of bytes that have room for them. Each function returns the offset after the head.
// msgpack-writer.ts has the same rules for a buffer that grows.

export function arrayHead(bytes: Buffer, at: number, length: number): number {
  return containerHead(bytes, at, length, 0x90, 0xdc)
}

export function mapHead(bytes: Buffer, at: number, length: number): number {
  return containerHead(bytes, at, length, 0x80, 0xde)
}

export function stringHead(bytes: Buffer, at: number, length: number): number {
  if (length >= 32) return countHead(bytes, at, length, 0xd9)
  bytes[at] = 0xa0 | length
  return at + 1
}

export function binaryHead(bytes: Buffer, at: number, length: number): number {
  return countHead(bytes, at, length, 0xc4)
}

/** A whole number below 2^32. */
export function uintHead(bytes: Buffer, at: number, value: number): number {
  if (value >= 0x80) return countHead(bytes, at, value, 0xcc)
  bytes[at] = value
  return at + 1
}

function containerHead(bytes: Buffer, at: number, length: number, short: number, head16: number): number {
  if (length < 16) {
    bytes[at] = short | length
    return at + 1
  }
  if (length < 0x10000) {
    bytes[at] = head16
    return bytes.writeUInt16BE(length, at + 1)
  }
  bytes[at] = head16 + 1
  return bytes.writeUInt32BE(length, at + 1)
}

/** A head with a number of 8, 16, or 32 bits. */
function countHead(bytes: Buffer, at: number, count: number, head8: number): number {
  if (count < 0x100) {
    bytes[at] = head8
    bytes[at + 1] = count
    return at + 2
  }
  if (count < 0x10000) {
    bytes[at] = head8 + 1
    return bytes.writeUInt16BE(count, at + 1)
  }
  bytes[at] = head8 + 2
  return bytes.writeUInt32BE(count, at + 1)
}
