// Refuses work that makes memory grow before the kernel ends the process for want of it. Work is admitted with an estimate of what it takes,
// and admitted work counts until it has ended, so that work that begins at the same time is counted together. Before anything is refused,
// memory that is only kept for speed is freed. State that was acknowledged is never refused here: a record that is in the log is applied.
import { EngineError } from '../errors.ts'
import { bytesOf, type MemoryNeed, partOf } from './memory-need.ts'
import { MemoryQueue, type MemoryWork } from './memory-queue.ts'
import type { MemoryReading } from './memory-reading.ts'

const mebibyte = 2 ** 20
/** A reading is used for this long. What is admitted meanwhile is added to it. */
const readEveryMs = 50
/** Freeing memory collects garbage, which takes as long as some writes, so it happens at most this often. */
const freeEveryMs = 1_000
/** The same for passing work, which leaves nothing but garbage. */
const freePassingEveryMs = 500
/** Other threads collect their garbage a moment later. */
const freeingMs = 200
/** A write waits this long for memory of other writes. Less than the time in which the server expects a part of a body. */
const waitMsMax = 10_000

export interface MemoryGuardOptions {
  readonly read: () => readonly MemoryReading[]
  /** Frees what is kept only for speed. Called when memory becomes scarce, before anything is refused. */
  readonly free: () => void
  /** Frees more, which takes longer: called when work would be refused otherwise. */
  readonly freeMore?: (() => void) | undefined
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number
  /** How long a write waits for memory of other writes; 10 s by default. */
  readonly waitMsMax?: number
  /** How long after a call of `freeMore` memory still becomes free; 200 ms by default. */
  readonly freeingMs?: number
}

/** The scarcest memory: what may be used, what is in use, and what running work may take, in bytes. */
export interface MemoryState {
  readonly limit: number
  readonly used: number
  readonly pending: number
  /** Work is refused above this. */
  readonly usable: number
  readonly refused: number
  /** Writes that wait for memory of other writes. */
  readonly waiting: number
}

/**
 * The part of a limit that writes leave free: for bodies that arrive, replies, checkpoints, garbage, and the program itself, whose pages the
 * kernel must read from the disk again and again if they do not fit.
 */
export function memoryReserve(limit: number): number {
  return Math.min(512 * mebibyte, Math.max(limit / 8, Math.min(96 * mebibyte, limit * 0.375)))
}

export class MemoryGuard {
  readonly #options: MemoryGuardOptions
  readonly #writes: MemoryQueue
  #readings: readonly MemoryReading[] = []
  #readAtMs = Number.NEGATIVE_INFINITY
  #freedAtMs = Number.NEGATIVE_INFINITY
  #freedMoreAtMs = Number.NEGATIVE_INFINITY
  /** Of admitted work. */
  #pending = 0
  /** What work that ended since the last reading may have left. */
  #left = 0
  /** Whether no work was admitted since everything was freed that can be, and what was in use then, without work that ran. */
  #isFreed = false
  #usedFreed = Number.NEGATIVE_INFINITY
  #refused = 0
  /** Whether the last work that wanted to make memory grow was refused. */
  #isScarce = false

  constructor(options: MemoryGuardOptions) {
    this.#options = options
    this.#writes = new MemoryQueue(
      {
        lacking: (need) => {
          this.#freeEarly()
          return this.#lacking(bytesOf(need), partOf(need))
        },
        lackingAlone: (need) => (this.#isFreeing() ? undefined : this.#lackingAlone(need)),
        freeAll: () => this.#freeAll(),
        isFreed: () => this.#isFreed && !this.#isFreeing(),
        isIdle: () => this.#pending === 0,
        count: (need) => this.#count(need),
        discount: (need) => this.#discount(need),
        refuse: (code, what, need, lacking) => this.#refuse(code, what, need, lacking),
      },
      options.waitMsMax ?? waitMsMax,
    )
  }

  /** A write that begins. Nothing is counted for it yet. */
  write(): MemoryWork {
    return this.#writes.open('the write')
  }

  /**
   * Counts work that may take long, such as a rebuild, until the returned function is called, which may be called more than once. Throws
   * EngineError `memory_exhausted`, or `overloaded` if it would fit without other work: nothing is counted then.
   */
  admit(what: string, need: MemoryNeed): () => void {
    this.check(what, need)
    this.#count(need)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#discount(need)
      this.#writes.advance()
    }
  }

  /** Throws what `admit` throws. Nothing is counted. */
  check(what: string, need: MemoryNeed): void {
    const lacking = this.#lackingFreed(bytesOf(need), partOf(need))
    if (lacking === undefined) return
    const isBusy = this.#pending > 0 && this.#lackingAlone(need) === undefined
    throw this.#refuse(isBusy ? 'overloaded' : 'memory_exhausted', what, need, lacking)
  }

  /**
   * For a record that must be applied: throws EngineError `memory_exhausted` only where the kernel would probably end the process. Frees
   * what can be freed first.
   */
  checkUnavoidable(what: string, bytes: number): void {
    const lacking = this.#lackingFreed(bytes, 0.25)
    if (lacking !== undefined) throw refusal('memory_exhausted', what, bytes, lacking)
  }

  /**
   * For work that leaves nothing behind, such as a large reply: throws EngineError `overloaded` only where the kernel would probably end the
   * process. Frees what can be freed early, because garbage is what such work leaves. The bytes count until memory is read again.
   */
  checkPassing(what: string, bytes: number): void {
    if (this.#lacking(bytes, 0.5) !== undefined) this.#freeAll(freePassingEveryMs)
    const lacking = this.#lacking(bytes, 0.25)
    if (lacking !== undefined) throw refusal('overloaded', what, bytes, lacking)
    this.#left += bytes
  }

  /** Frees what can be freed if reads, or other processes, take what writes leave free. Call it from time to time. */
  watch(): void {
    this.#freeEarly()
    if (this.#lacking(0, 0.5) !== undefined) this.#freeAll()
  }

  /** Rejects writes that wait. */
  close(): void {
    this.#writes.close()
  }

  /** Undefined where no limit is known. */
  get state(): MemoryState | undefined {
    const scarcest = this.#scarcest(1)
    if (scarcest === undefined) return undefined
    const { limit, used } = scarcest
    return {
      limit,
      used: used + this.#left,
      usable: limit - memoryReserve(limit),
      pending: this.#pending,
      refused: this.#refused,
      waiting: this.#writes.waiting,
    }
  }

  /** A sentence for the health, while memory is so scarce that writes are rejected. */
  notice(): string | undefined {
    const { state } = this
    if (state === undefined || !this.#isScarce) return undefined
    const { limit, used, pending, usable } = state
    if (used + pending < usable - memoryReserve(limit) / 8) return undefined
    return `writes are rejected because memory is scarce: ${used} of ${limit} bytes are in use; delete objects or collections, or give the process more memory`
  }

  /** The limit of which least is free. */
  #scarcest(part: number): MemoryReading | undefined {
    const nowMs = this.#options.nowMs()
    if (nowMs - this.#readAtMs >= readEveryMs) {
      this.#readings = this.#options.read()
      this.#readAtMs = nowMs
      this.#left = 0
    }
    const free = ({ limit, used }: MemoryReading) => limit - part * memoryReserve(limit) - used
    return this.#readings.reduce<MemoryReading | undefined>(
      (least, one) => (least === undefined || free(one) < free(least) ? one : least),
      undefined,
    )
  }

  /** The limit that the bytes would exceed, if a part of the reserve stays free. */
  #lacking(bytes: number, part: number): MemoryReading | undefined {
    const scarcest = this.#scarcest(part)
    if (scarcest === undefined) return undefined
    const { limit, used } = scarcest
    return used + this.#left + this.#pending + bytes > limit - part * memoryReserve(limit) ? scarcest : undefined
  }

  /** The same after everything was freed that can be. */
  #lackingFreed(bytes: number, part: number): MemoryReading | undefined {
    this.#freeEarly()
    const lacking = this.#lacking(bytes, part)
    return lacking !== undefined && this.#freeAll() ? this.#lacking(bytes, part) : lacking
  }

  /**
   * The limit that the need would exceed next to no other work, by what was in use when memory was freed last: work that ran then had taken at
   * most what it was counted with.
   */
  #lackingAlone(need: MemoryNeed): MemoryReading | undefined {
    const part = partOf(need)
    const scarcest = this.#scarcest(part)
    if (scarcest === undefined) return undefined
    const { limit, used } = scarcest
    const least = Math.min(this.#usedFreed, used + this.#left)
    return least + bytesOf(need) > limit - part * memoryReserve(limit) ? scarcest : undefined
  }

  #count(need: MemoryNeed): void {
    this.#pending += bytesOf(need)
    this.#isFreed = false
    this.#isScarce = false
  }

  #discount(need: MemoryNeed): void {
    this.#pending -= bytesOf(need)
    this.#left += need.growth
  }

  #refuse(
    code: 'memory_exhausted' | 'overloaded',
    what: string,
    need: MemoryNeed,
    lacking: MemoryReading,
  ): EngineError {
    this.#refused += 1
    if (code === 'memory_exhausted') this.#isScarce = true
    return refusal(code, what, bytesOf(need), lacking)
  }

  /** Frees a part while writes may still use some memory, so that few are refused because of what can be freed. */
  #freeEarly(): void {
    const scarcest = this.#scarcest(1)
    if (scarcest === undefined || scarcest.used + this.#pending <= scarcest.limit - 1.5 * memoryReserve(scarcest.limit))
      return
    const nowMs = this.#options.nowMs()
    if (nowMs - this.#freedAtMs < freeEveryMs) return
    this.#freedAtMs = nowMs
    this.#options.free()
  }

  #isFreeing(): boolean {
    return this.#options.nowMs() - this.#freedMoreAtMs < (this.#options.freeingMs ?? freeingMs)
  }

  /** Returns false if it was done a moment ago. */
  #freeAll(everyMs = freeEveryMs): boolean {
    const nowMs = this.#options.nowMs()
    if (nowMs - this.#freedMoreAtMs < everyMs) return false
    this.#options.free()
    this.#options.freeMore?.()
    this.#freedAtMs = this.#freedMoreAtMs = this.#options.nowMs()
    this.#readAtMs = Number.NEGATIVE_INFINITY
    this.#usedFreed = (this.#scarcest(1)?.used ?? 0) - this.#pending
    this.#isFreed = true
    return true
  }
}

function refusal(
  code: 'memory_exhausted' | 'overloaded',
  what: string,
  value: number,
  { limit, used, source }: MemoryReading,
): EngineError {
  const of = { option: 'this process may use', group: 'its control group allows', machine: 'the machine has' }[source]
  const need = `${what} may need ${Math.ceil(value)} bytes of memory`
  const state = `${used} of the ${limit} bytes that ${of} are in use`
  const message =
    code === 'overloaded'
      ? `${need} next to other work that runs, and ${state}; try again shortly`
      : `${need}, but ${state}, and some must stay free; delete objects or collections, or give the process more memory`
  return new EngineError(code, message, { field: 'memory', value: Math.ceil(value), limit, used })
}
