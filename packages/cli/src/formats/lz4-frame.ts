// Decompresses LZ4 frames, in which Feather files are compressed by default:
//
//   magic u32 0x184D2204 | flags u8 | block size u8 | [content size u64] | [dictionary u32] | check u8
//   blocks: size u32 (highest bit: not compressed) | bytes | [checksum u32], until a size of 0 | [checksum u32]
//
// Checksums are not compared: Arrow files have none over their content.

const magic = 0x184d2204

/** Throws an Error where the bytes are no frame, or end too early. */
export function fromLz4Frame(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 7 || view.getUint32(0, true) !== magic) throw new Error('not an LZ4 frame')
  const flags = bytes[4] as number
  if (flags >> 6 !== 1) throw new Error(`LZ4 frame of version ${flags >> 6}`)
  const output = new Output()
  const blockChecksum = flags & 0x10 ? 4 : 0
  let place = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0)
  for (;;) {
    if (place + 4 > bytes.length) throw new Error('the LZ4 frame ends too early')
    const size = view.getUint32(place, true)
    place += 4
    if (size === 0) return output.bytes()
    const end = place + (size & 0x7fffffff)
    if (end > bytes.length) throw new Error('the LZ4 frame ends too early')
    const block = bytes.subarray(place, end)
    if (size >>> 31 === 1) output.add(block)
    else addBlock(block, output)
    place = end + blockChecksum
  }
}

/** Matches of a block may begin in the blocks before it. */
function addBlock(block: Uint8Array, output: Output): void {
  let place = 0
  const length = (nibble: number) => {
    let sum = nibble
    for (let more = nibble === 15 ? 255 : 0; more === 255; ) {
      if (place >= block.length) throw new Error('the LZ4 block ends too early')
      more = block[place] as number
      place += 1
      sum += more
    }
    return sum
  }
  while (place < block.length) {
    const token = block[place] as number
    place += 1
    const literals = length(token >> 4)
    if (place + literals > block.length) throw new Error('the LZ4 block ends too early')
    output.add(block.subarray(place, place + literals))
    place += literals
    // The last sequence has no match.
    if (place === block.length) return
    if (place + 2 > block.length) throw new Error('the LZ4 block ends too early')
    const distance = (block[place] as number) | ((block[place + 1] as number) << 8)
    place += 2
    output.repeat(distance, length(token & 15) + 4)
  }
}

class Output {
  #bytes = new Uint8Array(65_536)
  #length = 0

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  repeat(distance: number, count: number): void {
    if (distance === 0 || distance > this.#length) throw new Error('an LZ4 match begins before the content')
    this.#reserve(count)
    // Byte by byte, because a match may overlap what it writes.
    for (let i = 0; i < count; i += 1) {
      this.#bytes[this.#length] = this.#bytes[this.#length - distance] as number
      this.#length += 1
    }
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const more = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count))
    more.set(this.#bytes)
    this.#bytes = more
  }
}
