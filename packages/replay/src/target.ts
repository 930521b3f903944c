// The target of a replay.
import type { SearchRequest } from '@annal/engine'
import type { Event } from '@annal/engine/events'

/** Where the changes and searches of a trace go: an engine, or a server. */
export interface ReplayTarget {
  /** Text for the report. */
  readonly name: string
  /** Resolves when the change is acknowledged. Calls for one collection take effect in order without waiting for each other. */
  apply(event: Event): Promise<void>
  /** The found ids, best first, by field. Undefined if the collection does not exist. */
  search(collectionId: number, request: SearchRequest): Promise<ReadonlyMap<string, readonly string[]> | undefined>
  /** Memory of the process that holds the data, in bytes; undefined if unknown. */
  memory(): Promise<number | undefined>
  /** Milliseconds of checkpoints since the last call; 0 if unknown. */
  takeCheckpointMs(): number
  /** Digests by `<database id>/<name>`; empty if unknown. */
  digests(): Readonly<Record<string, string>>
  /** Closes and reopens the target if possible; returns the milliseconds until it is ready. */
  restart(): Promise<number | undefined>
  /** Releases everything that the target opened. Idempotent. */
  close(): Promise<void>
}

const alongside: ReadonlySet<Event['kind']> = new Set([
  'objects-upserted',
  'objects-deleted',
  'objects-expired',
  'objects-patched',
  'filters-replaced',
])

/** Events that other events must not overtake. */
export function mustBeAlone(event: Event): boolean {
  return !alongside.has(event.kind)
}
