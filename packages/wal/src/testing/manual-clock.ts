// A clock that the test advances.
import type { Clock } from '../clock.ts'

interface Alarm {
  readonly atMs: number
  readonly call: () => void
}

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #nowMs = 0
  readonly #alarms = new Set<Alarm>()

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, call: () => void): () => void {
    const alarm = { atMs: this.#nowMs + delayMs, call }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  /** Advances the time; calls whatever becomes due, in order. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms
    for (let due = this.#next(untilMs); due !== undefined; due = this.#next(untilMs)) {
      this.#alarms.delete(due)
      this.#nowMs = due.atMs
      due.call()
    }
    this.#nowMs = untilMs
  }

  #next(untilMs: number): Alarm | undefined {
    let first: Alarm | undefined
    for (const alarm of this.#alarms) if (alarm.atMs <= untilMs && alarm.atMs < (first?.atMs ?? Infinity)) first = alarm
    return first
  }
}

/** Resolves when all work that needs no clock and no real disk has finished. */
export function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
