// What the clients of a flood know in common: the states that searches may return, and the faults that were found.
import { History } from './histories.ts'
import type { ObjectState } from './objects.ts'

export const objects = 150
export const fields = [
  { name: 'v', type: 'vector', params: { dimension: 16, space_type: 'l2', precision: 'float32' } },
  { name: 's', type: 'sparse' },
]

/** The state of a collection that is created and deleted: its generation, once it has its objects. */
export type CollectionState = 'absent' | 'empty' | number

export class Flood {
  readonly objects = Array.from(
    { length: objects },
    () => new History<ObjectState>({ isStored: true, version: 1, change: 0 }),
  )
  readonly passing = new History<CollectionState>('absent')
  readonly copied = new History<'absent' | 'copy'>('absent')
  readonly tokens: { readonly text: string; readonly history: History<'valid' | 'revoked'> }[] = []
  /** The collection that grows: its generation, and how many of its objects are acknowledged. */
  growing = { generation: 1, grown: 0, isComplete: true }
  rebuilding = Promise.resolve()
  isOver = false
  stableReply: string | undefined
  readonly faults: string[] = []
  readonly counts = new Map<string, number>()

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  fault(text: string): void {
    this.faults.push(text)
    this.isOver = true
  }
}

/** Of several functions that were called with the same flood, one at a time runs: a collection that is rebuilt is not deleted. */
export async function withoutRebuild(flood: Flood, run: () => Promise<void>): Promise<void> {
  const before = flood.rebuilding
  flood.rebuilding = before.then(run)
  await flood.rebuilding
}
