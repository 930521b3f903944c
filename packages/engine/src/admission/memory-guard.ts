// Refuses work that makes memory grow before the kernel ends the process for want of it. Work is admitted with an estimate of what it takes,
// and admitted work counts until it has ended, so that work that begins at the same time is counted together. Before anything is refused,
// memory that is only kept for speed is freed. State that was acknowledged is never refused here: a record that is in the log is applied.
import { EngineError } from '../errors.ts'
import type { MemoryReading } from './memory-reading.ts'

const mebibyte = 2 ** 20
/** A reading is used for this long. What is admitted meanwhile is added to it. */
const readEveryMs = 50
/** Freeing memory collects garbage, which takes as long as some writes, so it happens at most this often. */
const freeEveryMs = 1_000

export interface MemoryGuardOptions {
  readonly read: () => readonly MemoryReading[]
  /** Frees what is kept only for speed. Called when memory becomes scarce, before anything is refused. */
  readonly free: () => void
  /** Frees more, which takes longer: called when work would be refused otherwise. */
  readonly freeMore?: (() => void) | undefined
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number
}

/** The scarcest memory: what may be used, what is in use, and what running work may take, in bytes. */
export interface MemoryState {
  readonly limit: number
  readonly used: number
  readonly pending: number
  /** Work is refused above this. */
  readonly usable: number
  readonly refused: number
  /** Whether the last work that wanted to make memory grow was refused. */
  readonly isScarce: boolean
}

/** What work takes, in bytes. */
export interface MemoryNeed {
  /** What stays when it has ended. */
  readonly growth: number
  /** What it takes besides while it runs. */
  readonly transient?: number
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
  #readings: readonly MemoryReading[] = []
  #readAtMs = Number.NEGATIVE_INFINITY
  #freedAtMs = Number.NEGATIVE_INFINITY
  #freedMoreAtMs = Number.NEGATIVE_INFINITY
  /** Of admitted work. */
  #pending = 0
  /** What work that ended since the last reading may have left. */
  #left = 0
  #refused = 0
  #isScarce = false

  constructor(options: MemoryGuardOptions) {
    this.#options = options
  }

  /**
   * Counts work until the returned function is called, which may be called more than once. Throws EngineError `memory_exhausted`: nothing is
   * counted then. Work without growth may use half of the reserve, so that objects can be written in the place of deleted ones.
   */
  admit(what: string, { growth, transient = 0 }: MemoryNeed): () => void {
    const bytes = growth + transient
    const part = growth > 0 ? 1 : 0.5
    let lacking = this.#lacking(bytes, part)
    if (lacking !== undefined && this.#freeAll()) lacking = this.#lacking(bytes, part)
    this.#isScarce = lacking !== undefined
    if (lacking !== undefined) {
      this.#refused += 1
      throw refusal(what, bytes, lacking)
    }
    this.#pending += bytes
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#pending -= bytes
      this.#left += growth
    }
  }

  /** Throws EngineError `memory_exhausted` if work of this size would be refused now. Nothing is counted. */
  check(what: string, need: MemoryNeed): void {
    const left = this.#left
    this.admit(what, need)()
    this.#left = left
  }

  /**
   * For a record that must be applied: throws EngineError `memory_exhausted` only where the kernel would probably end the process. Frees
   * what can be freed first.
   */
  checkUnavoidable(what: string, bytes: number): void {
    let lacking = this.#lacking(bytes, 0.25)
    if (lacking !== undefined && this.#freeAll()) lacking = this.#lacking(bytes, 0.25)
    if (lacking !== undefined) throw refusal(what, bytes, lacking)
  }

  /** Frees what can be freed if reads, or other processes, take what writes leave free. Call it from time to time. */
  watch(): void {
    if (this.#lacking(0, 0.5) !== undefined) this.#freeAll()
  }

  /** Undefined where no limit is known. */
  get state(): MemoryState | undefined {
    const scarcest = this.#scarcest(1)
    if (scarcest === undefined) return undefined
    const { limit, used } = scarcest
    const usable = limit - memoryReserve(limit)
    return {
      limit,
      used: used + this.#left,
      usable,
      pending: this.#pending,
      refused: this.#refused,
      isScarce: this.#isScarce,
    }
  }

  /** A sentence for the health, while memory is so scarce that writes are refused. */
  notice(): string | undefined {
    const { state } = this
    if (state === undefined || !state.isScarce) return undefined
    const { limit, used, pending, usable } = state
    if (used + pending < usable - memoryReserve(limit) / 8) {
      this.#isScarce = false
      return undefined
    }
    return `writes are refused because memory is scarce: ${used} of ${limit} bytes are in use; delete objects or collections, or give the process more memory`
  }

  /** The limit of which least is free. */
  #scarcest(part: number): MemoryReading | undefined {
    const nowMs = this.#options.nowMs()
    if (nowMs - this.#readAtMs >= readEveryMs) this.#read(nowMs)
    const free = ({ limit, used }: MemoryReading) => limit - part * memoryReserve(limit) - used
    return this.#readings.reduce<MemoryReading | undefined>(
      (least, one) => (least === undefined || free(one) < free(least) ? one : least),
      undefined,
    )
  }

  #read(nowMs: number): void {
    this.#readings = this.#options.read()
    this.#readAtMs = nowMs
    this.#left = 0
    // While writes may still use some memory, so that few are refused because of what can be freed.
    const isScarce = this.#readings.some(({ limit, used }) => used + this.#pending > limit - 1.5 * memoryReserve(limit))
    if (!isScarce || nowMs - this.#freedAtMs < freeEveryMs) return
    this.#freedAtMs = nowMs
    this.#options.free()
  }

  /** The limit that the bytes would exceed, if a part of the reserve stays free. */
  #lacking(bytes: number, part: number): MemoryReading | undefined {
    const scarcest = this.#scarcest(part)
    if (scarcest === undefined) return undefined
    const { limit, used } = scarcest
    return used + this.#left + this.#pending + bytes > limit - part * memoryReserve(limit) ? scarcest : undefined
  }

  /** Returns false if it was done a moment ago. */
  #freeAll(): boolean {
    const nowMs = this.#options.nowMs()
    if (nowMs - this.#freedMoreAtMs < freeEveryMs) return false
    this.#options.free()
    this.#options.freeMore?.()
    this.#freedAtMs = this.#freedMoreAtMs = this.#options.nowMs()
    this.#readAtMs = Number.NEGATIVE_INFINITY
    return true
  }
}

function refusal(what: string, value: number, { limit, used, source }: MemoryReading): EngineError {
  const of = { option: 'this process may use', group: 'its control group allows', machine: 'the machine has' }[source]
  const message =
    `${what} may need ${Math.ceil(value)} bytes of memory, but ${used} of the ${limit} bytes that ${of} are in use, and some must stay ` +
    'free; delete objects or collections, or give the process more memory'
  return new EngineError('memory_exhausted', message, { field: 'memory', value: Math.ceil(value), limit, used })
}
