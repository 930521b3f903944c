// What a trace is replayed into.
import type { SearchRequest } from '@annal/engine'
import type { Event } from '@annal/engine/events'

export interface ReplayTarget {
  /** In words, for the report. */
  readonly name: string
  /** Resolves when the change is acknowledged. Calls for one collection take effect in their order without waiting for each other. */
  apply(event: Event): Promise<void>
  /** Ids found, best first, by field. Undefined when the collection is not there. */
  search(collectionId: number, request: SearchRequest): Promise<ReadonlyMap<string, readonly string[]> | undefined>
  /** Bytes of memory of the process that holds the data; undefined when it cannot be asked. */
  memory(): Promise<number | undefined>
  /** How long checkpoints ran since the last call, in milliseconds; 0 where a target cannot tell. */
  takeCheckpointMs(): number
  /** By `<database id>/<name>`; empty where a target cannot tell. */
  digests(): Readonly<Record<string, string>>
  /** Closes and opens again, where that is possible: milliseconds until everything answers. */
  restart(): Promise<number | undefined>
  close(): Promise<void>
}

/** Events that others must not overtake. */
export function mustBeAlone(event: Event): boolean {
  return event.kind !== 'objects-upserted' && event.kind !== 'objects-deleted' && event.kind !== 'filters-replaced'
}
