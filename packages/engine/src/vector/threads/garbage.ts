// Returns the memories of released fields to the system. A WebAssembly memory cannot be closed or made smaller: its pages, its mappings,
// and its 8 GiB of address space are freed when no thread can reach it and the collector of each thread has run. Threads that serve
// allocate almost nothing, so their collectors hardly ever run. The owner counts released memory and makes every thread collect when the
// garbage outside the heap is as large as the heap, or has as many pieces as the heap has megabytes. So a collection costs about a
// millisecond for each released memory, for any heap size.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hasRoomForMemory, onMemoryRefused } from '../address-space.ts'

/** Released memories, and bytes in them, that stay uncollected for any heap size. */
export const releasedMin = 64
const releasedBytesMin = 64 * 2 ** 20

/** Without address space, the number of repeated collections, and the time between them. */
const repeatsMax = 3
const repeatAfterMs = 100

/** Released memories, and bytes in them, of pools that have ended, which nothing has collected since. */
const left = { memories: 0, bytes: 0 }

let exposed = false
let collect: (() => void) | undefined

/** Must be called in the thread that creates other threads, before it creates them: it changes a flag that threads read when they start. */
export function exposeCollector(): void {
  if (exposed) return
  setFlagsFromString('--expose-gc')
  exposed = true
}

/** Collects all garbage of this thread. Has no effect in a thread that was created before `exposeCollector` was called. */
export function collectGarbage(): void {
  // A thread that is older than the flag has the function only in contexts that it makes later.
  collect ??= globalThis.gc ?? (exposed ? (runInNewContext('gc') as () => void) : undefined)
  collect?.()
}

export class Garbage {
  readonly #everywhere: () => void
  #memories = 0
  #bytes = 0
  #scheduled = false
  readonly #endClaims = onMemoryRefused(() => this.#collectLater())

  /** `everywhere` makes the other threads collect once they know of every release so far. */
  constructor(everywhere: () => void) {
    this.#everywhere = everywhere
  }

  /** Counts a memory that this thread has released, with its bytes in use. */
  add(bytes: number): void {
    this.#memories++
    this.#bytes += bytes
    if (this.#scheduled || !this.#isDue()) return
    this.#scheduled = true
    // In a separate turn, because the caller may still have the memory on its stack.
    setImmediate(() => this.#collect()).unref()
  }

  /** A memory was refused. Memory that was in use at the last collection may be free now, so garbage is collected again. */
  #collectLater(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setTimeout(() => this.#collect(0), repeatAfterMs).unref()
  }

  /**
   * Leaves the rest to this thread; the others have ended. It is collected when it adds up, together with what other pools leave, because a
   * collection takes a third of the time of a small pool.
   */
  end(): void {
    this.#endClaims()
    const isDue = this.#memories > 0 && this.#isDue()
    left.memories += this.#memories
    left.bytes += this.#bytes
    if (isDue) setImmediate(() => this.#collect()).unref()
    this.#memories = 0
    this.#bytes = 0
  }

  #isDue(): boolean {
    // Releases made space for what is refused now.
    if (!hasRoomForMemory()) return true
    const [memories, bytes] = [this.#memories + left.memories, this.#bytes + left.bytes]
    if (memories < releasedMin && bytes < releasedBytesMin) return false
    const heap = getHeapStatistics().used_heap_size
    return memories >= Math.max(releasedMin, heap / 2 ** 20) || bytes >= Math.max(releasedBytesMin, heap)
  }

  #collect(again = repeatsMax): void {
    this.#scheduled = false
    this.#memories = 0
    this.#bytes = 0
    left.memories = 0
    left.bytes = 0
    this.#everywhere()
    collectGarbage()
    // A field may still be closing, and other threads collect when they can. With address space left this waits for the next time; without,
    // memories are refused meanwhile.
    if (again > 0 && !hasRoomForMemory()) setTimeout(() => this.#collect(again - 1), repeatAfterMs).unref()
  }
}
