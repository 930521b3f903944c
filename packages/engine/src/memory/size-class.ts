// Block sizes of a byte heap: multiples of 8 up to 1 KiB, then eight sizes for each doubling (at most an eighth is
// unused).

const fineMax = 1024
const fineClasses = fineMax / 8
const stepsPerDoubling = 8

export const blockBytesMin = 16
const blockHeadBytes = 4
const blockBytesMax = 1 << 20
export const valueBytesMax = blockBytesMax - 8 - blockHeadBytes
export const sizeClasses = fineClasses + 1 + 10 * stepsPerDoubling

/** Bytes of the block for a value of `length` bytes. */
export function blockBytes(length: number): number {
  const bytes = length + blockHeadBytes
  if (bytes <= blockBytesMin) return blockBytesMin
  const step = bytes <= fineMax ? 8 : stepOf(bytes)
  return Math.ceil(bytes / step) * step
}

/** The index of a block size, below `sizeClasses`. */
export function sizeClass(block: number): number {
  if (block <= fineMax) return block / 8
  const doubling = 31 - Math.clz32(block - 1) - 10
  return fineClasses + doubling * stepsPerDoubling + block / stepOf(block) - stepsPerDoubling
}

/** The largest block size that fits into `bytes`, which is at least blockBytesMin. */
export function blockWithin(bytes: number): number {
  if (bytes <= fineMax) return bytes - (bytes % 8)
  const step = stepOf(bytes)
  return bytes - (bytes % step)
}

function stepOf(bytes: number): number {
  return 1 << (31 - Math.clz32(bytes - 1) - 3)
}
