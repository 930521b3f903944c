// Gives the memories of fields that are gone back to the system. A WebAssembly memory cannot shrink or be closed: its pages, its
// mappings and its 8 GiB of address space go when no thread can reach it any more and each thread's collector has noticed.
// Threads that serve allocate next to nothing, so their collectors would hardly ever run. The owner counts what was released
// and makes every thread collect by a rule: when the garbage outside the heap is as large as the heap, or has as many pieces
// as the heap has megabytes. So a collection costs about a millisecond per released memory, however large the heap is.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { hasRoomForMemory, onMemoryRefused } from '../address-space.ts'

/** Released memories, and bytes in them, that are left uncollected however small the heap is. */
export const releasedMin = 64
export const releasedBytesMin = 64 * 2 ** 20

/** Where no address space is left, collections after the first, and what lies between them. */
const repeatsMax = 3
const repeatAfterMs = 100

let collect: (() => void) | undefined

/** Must be called in the thread that makes others, before it makes them: it changes a flag that threads read when they start. */
export function exposeCollector(): void {
  if (collect !== undefined) return
  setFlagsFromString('--expose-gc')
  collect = globalThis.gc ?? (runInNewContext('gc') as () => void)
}

/** Collects all garbage of this thread before it returns. In a thread made before `exposeCollector` was called it does nothing. */
export function collectGarbage(): void {
  const run = collect ?? globalThis.gc
  run?.()
}

export class Garbage {
  readonly #everywhere: () => void
  #memories = 0
  #bytes = 0
  #scheduled = false
  readonly #endClaims = onMemoryRefused(() => this.#collectLater())

  /** `everywhere` makes the other threads collect once they have heard of every release so far. */
  constructor(everywhere: () => void) {
    this.#everywhere = everywhere
  }

  /** Counts a memory that this thread has let go of, with the bytes in it that hold something. */
  add(bytes: number): void {
    this.#memories++
    this.#bytes += bytes
    if (this.#scheduled || !this.#isDue()) return
    this.#scheduled = true
    // In a turn of its own: whoever releases a memory may still have it on its stack.
    setImmediate(() => this.#collect()).unref()
  }

  /** A memory is refused: what was still held when it was collected last may be free by now, so it is collected again. */
  #collectLater(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setTimeout(() => this.#collect(0), repeatAfterMs).unref()
  }

  /** Collects what is left, in this thread: the others have ended. */
  end(): void {
    this.#endClaims()
    if (this.#memories > 0) setImmediate(() => this.#collect()).unref()
  }

  #isDue(): boolean {
    // What was dropped makes room for what is refused now.
    if (!hasRoomForMemory()) return true
    if (this.#memories < releasedMin && this.#bytes < releasedBytesMin) return false
    const heap = getHeapStatistics().used_heap_size
    return this.#memories >= Math.max(releasedMin, heap / 2 ** 20) || this.#bytes >= Math.max(releasedBytesMin, heap)
  }

  #collect(again = repeatsMax): void {
    this.#scheduled = false
    this.#memories = 0
    this.#bytes = 0
    this.#everywhere()
    collectGarbage()
    // Whoever closes a field may still be at it, and other threads collect when they can. Where there is room that waits for the
    // next time; where there is none, somebody is refused meanwhile.
    if (again > 0 && !hasRoomForMemory()) setTimeout(() => this.#collect(again - 1), repeatAfterMs).unref()
  }
}
