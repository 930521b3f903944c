// Damages a file: changes bytes, cuts it, repeats or removes a piece, or puts in large numbers where lengths may be.

export type Random = (below: number) => number

/** Whole numbers from 0, the same for each seed. */
export function randomOf(seed: number): Random {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const large = [0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x4000_0000, 0x0100_0000, 0xffff]

/** Another file of the same kind. */
export function damaged(good: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(good)
  const place = () => random(bytes.length)
  switch (random(6)) {
    case 0:
      return bytes.subarray(0, place())
    case 1: {
      const [from, length] = [place(), 1 + random(64)]
      const piece = bytes.subarray(from, from + length)
      return Buffer.concat([bytes.subarray(0, from), ...new Array(1 + random(8)).fill(piece), bytes.subarray(from)])
    }
    case 2: {
      const from = place()
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random(64))])
    }
    case 3: {
      const at = random(Math.max(1, bytes.length - 8)) & ~3
      if (at + 4 <= bytes.length) bytes.writeUInt32LE(large[random(large.length)] as number, at)
      return bytes
    }
    default:
      for (let changes = 1 + random(4); changes > 0; changes -= 1) bytes[place()] = random(256)
      return bytes
  }
}
