// Which nodes had a list written, as the kernel notes it: a byte per ordinal. Whoever copies lists while they are written copies
// those again at the end.

/** The arena's memory, and below which ordinals there is something. */
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
  /** The kernel writes to the last; to one before while a job goes on that began when there was less room. */
  #regions: Region[] = []
  readonly #watches = new Set<{ readonly before: number[] }>()

  /** A region that reaches farther, or one that takes over from the last. */
  widen(region: Region): void {
    if (this.#regions.at(-1)?.address === region.address) this.#regions.pop()
    this.#regions.push(region)
  }

  /** What is written from now on. No job may be under way, neither now nor when it is asked. */
  watch(memory: () => Memory): { ordinals(): Iterable<number>; end(): void } {
    // The bytes begin anew for everybody, so whoever watches already keeps what they said.
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
