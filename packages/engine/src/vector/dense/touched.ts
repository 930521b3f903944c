// The nodes whose lists were written, as the kernel marks them: one byte for each ordinal. Copying lists while they are written copies
// these again at the end, and a checkpoint that contains only changes writes them.
import { Bitmap } from '../../memory/bitmap.ts'

/** The arena's memory, and the end of its ordinals. */
interface Memory {
  readonly u8: Uint8Array
  readonly u32: Uint32Array
  readonly end: number
}

interface Region {
  readonly address: number
  readonly capacity: number
}

/** What was written since the watch began. */
export interface Watch {
  /** Marks of this moment included. No job may be running. */
  ordinals(): Bitmap
  end(): void
}

export class Touched {
  /** The kernel writes to the last region, and to an earlier one during a job that started before the region grew. */
  #regions: Region[] = []
  /** For each watch, what was marked before a later watch cleared the marks. */
  readonly #watches = new Set<Bitmap>()

  /** Adds a larger region, or one that replaces the last. */
  widen(region: Region): void {
    if (this.#regions.at(-1)?.address === region.address) this.#regions.pop()
    this.#regions.push(region)
  }

  /** Reports what is written from now on. No job may be running. */
  watch(memory: () => Memory): Watch {
    // The bytes are cleared for all watches, so earlier ones keep what was marked.
    for (const before of this.#watches) this.#addMarked(before, memory())
    this.#regions = this.#regions.slice(-1)
    for (const { address, capacity } of this.#regions) memory().u8.fill(0, address, address + capacity)
    const own = new Bitmap()
    this.#watches.add(own)
    return {
      ordinals: () => {
        this.#addMarked(own, memory())
        return own
      },
      end: () => void this.#watches.delete(own),
    }
  }

  #addMarked(to: Bitmap, { u8, u32, end }: Memory): void {
    for (const { address, capacity } of this.#regions) {
      const last = Math.min(end, capacity)
      for (let first = 0; first < last; first += 4) {
        if (u32[(address + first) / 4] === 0) continue
        for (let ordinal = first; ordinal < Math.min(first + 4, last); ordinal++)
          if (u8[address + ordinal] !== 0) to.set(ordinal)
      }
    }
  }
}
