// The index of one filter key: the objects that have it, and their values by type. Conditions on numbers find numbers,
// conditions on strings find strings, and conditions on time find strings that are points in time.

import type { TermTable } from '../memory/term-table.ts'
import type { JsonValue } from '../model/json.ts'
import { parseTimestamp } from './timestamp.ts'
import type { ValuePages } from './value-pages.ts'
import { type RunDirectory, ValueRun } from './value-run.ts'

export const runNames = ['exists', 'number', 'boolean', 'string', 'time'] as const
export type RunName = (typeof runNames)[number]

export class KeyIndex {
  readonly id: number
  readonly #pages: ValuePages
  readonly #terms: TermTable
  readonly #runs = new Map<RunName, ValueRun>()

  constructor(id: number, pages: ValuePages, terms: TermTable) {
    this.id = id
    this.#pages = pages
    this.#terms = terms
  }

  /** Undefined while no object has a value of that type under the key. */
  run(name: RunName): ValueRun | undefined {
    return this.#runs.get(name)
  }

  /** Restores a run of a loaded key. */
  restore(name: RunName, directory: RunDirectory): ValueRun {
    const run = new ValueRun(this.#pages, directory)
    this.#runs.set(name, run)
    return run
  }

  get isEmpty(): boolean {
    return this.#runs.size === 0
  }

  /** Bytes outside the heap, except for directories. */
  bytes(): number {
    let sum = 0
    for (const run of this.#runs.values()) sum += run.bytes()
    return sum
  }

  set(ordinal: number, value: JsonValue): void {
    this.#add('exists', 0, ordinal)
    if (Array.isArray(value)) for (const element of value) this.#setScalar(ordinal, element)
    else this.#setScalar(ordinal, value)
  }

  remove(ordinal: number, value: JsonValue): void {
    this.#remove('exists', 0, ordinal)
    if (Array.isArray(value)) for (const element of value) this.#removeScalar(ordinal, element)
    else this.#removeScalar(ordinal, value)
  }

  #setScalar(ordinal: number, value: JsonValue): void {
    // Adding 0 turns -0 into 0.
    if (typeof value === 'number') this.#add('number', value + 0, ordinal)
    else if (typeof value === 'boolean') this.#add('boolean', value ? 1 : 0, ordinal)
    else if (typeof value === 'string') this.#setString(ordinal, value)
  }

  #setString(ordinal: number, value: string): void {
    const term = this.#terms.intern(this.id, value)
    if (!this.#add('string', term, ordinal)) return
    this.#terms.use(term)
    const time = parseTimestamp(value)
    if (time !== undefined) this.#add('time', time, ordinal)
  }

  #removeScalar(ordinal: number, value: JsonValue): void {
    if (typeof value === 'number') this.#remove('number', value + 0, ordinal)
    else if (typeof value === 'boolean') this.#remove('boolean', value ? 1 : 0, ordinal)
    else if (typeof value === 'string') this.#removeString(ordinal, value)
  }

  #removeString(ordinal: number, value: string): void {
    const term = this.#terms.find(this.id, value)
    if (term < 0 || !this.#remove('string', term, ordinal)) return
    this.#terms.drop(this.id, value)
    const time = parseTimestamp(value)
    if (time !== undefined) this.#remove('time', time, ordinal)
  }

  #add(name: RunName, value: number, ordinal: number): boolean {
    const run = this.#runs.get(name) ?? this.restore(name, { pages: [], values: [], blocks: [] })
    return run.add(value, ordinal)
  }

  #remove(name: RunName, value: number, ordinal: number): boolean {
    const run = this.#runs.get(name)
    if (run === undefined || !run.remove(value, ordinal)) return false
    if (run.isEmpty) this.#runs.delete(name)
    return true
  }
}
