// Garbage collection after a load. A load leaves a young generation of its largest size, and buffers that only a major collection frees. V8
// runs none while nothing is allocated, so the process would keep this memory until the next load.
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** After so many bytes of bodies, and so much time without further ones, garbage is collected. */
const receivedMin = 32 * 1_048_576
const quietMs = 5_000
/** A collection takes two to three milliseconds of CPU time for each megabyte in use. */
const heapBytesMax = 128 * 1_048_576

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void
let collect: Collect | undefined

/** Collects all garbage of this thread, and makes its heap as small as it can be. Has no effect if the heap is large. */
export function collectGarbage(): void {
  if (getHeapStatistics().used_heap_size > heapBytesMax) return
  setFlagsFromString('--expose-gc')
  collect ??= runInNewContext('gc') as Collect
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Calls `collect` once after each load. */
export class Collector {
  readonly #collect: () => void
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(collect: () => void) {
    this.#collect = collect
  }

  /** Counts the bytes of a body that was received in pieces. */
  received(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < receivedMin) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.run(), quietMs).unref()
  }

  /** Collects now. */
  run(): void {
    this.#bytes = 0
    this.#collect()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
