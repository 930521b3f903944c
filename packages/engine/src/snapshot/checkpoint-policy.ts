// Decides when a checkpoint is worth its cost. The cost of a replay is the limit: rows to link again and bytes to read.
// The limits grow with the size of what a checkpoint writes whatever changed, so that a growing collection is written a
// bounded number of times in total. Graphs are written as changes, so they do not count.
import type { Event } from '../model/event.ts'

const workMin = 8_000
const bytesMin = 64 * 1024 * 1024
/** A replay after a crash links at most this share of the rows again, if checkpoints write everything. */
const workShare = 1 / 8
/** Where checkpoints write less than this part of the bytes, they are taken twice as often for what they write. */
const rewrittenMin = 1 / 2
const bytesShare = 1 / 4
/** Less than this is not worth a checkpoint when writers pause. */
const idleWorkMin = 1_000
const idleBytesMin = 1024 * 1024

/** What the engine holds. */
export interface Held {
  readonly objects: number
  readonly bytes: number
  /** The part of the bytes that the next checkpoint writes again, whatever changed. */
  readonly wholeBytes: number
}

/** Work of linking a row of this many dimensions, in rows of 128. */
export function linkWorkOf(dimension: number): number {
  return 0.6 + dimension / 320
}

/** Work of linking the rows of an event again, in rows of 128 dimensions; at least its objects. */
export function linkWork(event: Event): number {
  if (event.kind !== 'objects-upserted' && event.kind !== 'objects-restored') return 0
  let work = 0
  for (const { objects, vectors } of event.dense)
    if (objects.length > 0) work += objects.length * linkWorkOf(vectors.length / objects.length)
  // A graph holds one pooled vector for each object.
  for (const { objects, counts, vectors } of event.multi) {
    const members = counts.reduce((sum, count) => sum + count, 0)
    if (members > 0) work += objects.length * linkWorkOf(vectors.length / members)
  }
  return Math.max(event.ids.length, Math.round(work))
}

export class CheckpointPolicy {
  #work = 0
  #bytes = 0

  recordApplied(work: number, bytes: number): void {
    this.#work += work
    this.#bytes += bytes
  }

  /** Called when a checkpoint starts: later events belong to the next one. */
  reset(): void {
    this.#work = 0
    this.#bytes = 0
  }

  /** Whether so much was applied since the checkpoint started that the next one is due: writers are faster than the checkpoint. */
  get isLate(): boolean {
    return this.#work >= workMin || this.#bytes >= bytesMin
  }

  /** Whether a checkpoint is due now, given what the engine holds (evaluated only when it matters). */
  isDue(held: () => Held): boolean {
    if (!this.isLate) return false
    const { objects, bytes, wholeBytes } = held()
    const rewritten = bytes > 0 ? wholeBytes / bytes : 1
    return (
      this.#work >= Math.max(workMin, objects * workShare * rewritten * Math.max(rewrittenMin, rewritten)) ||
      this.#bytes >= Math.max(bytesMin, bytes * bytesShare)
    )
  }

  /** Whether a checkpoint is worth taking while nobody writes. */
  isWorthwhile(): boolean {
    return this.#work >= idleWorkMin || this.#bytes >= idleBytesMin
  }
}
