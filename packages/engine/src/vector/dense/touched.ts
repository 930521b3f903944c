// The nodes whose lists were written, as the kernel marks them: one byte for each ordinal. Copying lists while they are written copies
// these again at the end.

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

export class Touched {
  /** The kernel writes to the last region, and to an earlier one during a job that started before the region grew. */
  #regions: Region[] = []
  readonly #watches = new Set<{ readonly before: number[] }>()

  /** Adds a larger region, or one that replaces the last. */
  widen(region: Region): void {
    if (this.#regions.at(-1)?.address === region.address) this.#regions.pop()
    this.#regions.push(region)
  }

  /** Reports what is written from now on. No job may be running, neither now nor when `ordinals` is called. */
  watch(memory: () => Memory): { ordinals(): Iterable<number>; end(): void } {
    // The bytes are cleared for all watchers, so earlier watchers keep what was marked.
    for (const { before } of this.#watches) for (const ordinal of this.#marked(memory())) before.push(ordinal)
    this.#regions = this.#regions.slice(-1)
    for (const { address, capacity } of this.#regions) memory().u8.fill(0, address, address + capacity)
    const own: { readonly before: number[] } = { before: [] }
    this.#watches.add(own)
    return { ordinals: () => [...own.before, ...this.#marked(memory())], end: () => void this.#watches.delete(own) }
  }

  *#marked({ u8, u32, end }: Memory): Generator<number> {
    for (const { address, capacity } of this.#regions) {
      for (let first = 0; first < Math.min(end, capacity); first += 4) {
        if (u32[(address + first) / 4] === 0) continue
        for (let ordinal = first; ordinal < Math.min(first + 4, end); ordinal++)
          if (u8[address + ordinal] !== 0) yield ordinal
      }
    }
  }
}
