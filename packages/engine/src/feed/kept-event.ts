// An event as the feed keeps it. A writer frees the vectors of its upsert when the upsert is applied, so the feed keeps copies, or none where
// no consumer wants them.

import { columnBytes } from '../events/upsert-pieces.ts'
import type { Event } from '../model/event.ts'

/** The event without what the writer frees, and its approximate bytes. */
export function keptEvent(
  event: Event,
  bytes: number,
  withVectors: boolean,
): { readonly event: Event; readonly bytes: number } {
  if (event.kind !== 'objects-upserted') return { event, bytes }
  if (!withVectors) {
    const light = { ...event, dense: [], sparse: [], multi: [], text: [] }
    return { event: light, bytes: columnBytes(light) + event.ids.length * idBytes }
  }
  const copied = <C extends { readonly vectors: Float32Array }>(column: C): C => ({
    ...column,
    vectors: column.vectors.slice(),
  })
  return { event: { ...event, dense: event.dense.map(copied), multi: event.multi.map(copied) }, bytes }
}

const idBytes = 32
