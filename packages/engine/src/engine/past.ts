// Reads of the past of an engine: states of earlier moments, and the recent past that collections keep in memory.

import { availableMemory, memoryLimit, memoryReader } from '../admission/memory-reading.ts'
import { asOfWindowBytesDefault } from '../limits.ts'
import { refuseCollection } from '../naming.ts'
import { parseAsOf } from '../past/parse-as-of.ts'
import type { PastDoor } from '../past/past-collection.ts'
import { PastStates, type PastSubject } from '../past/past-states.ts'
import { RecentPast } from '../past/recent-past.ts'
import type { Foundation } from './foundation.ts'
import type { EngineHost } from './host.ts'

/** With less memory than this, the recent past has an eighth of it: as much as the default of the option. */
const smallMemory = 8 * asOfWindowBytesDefault

export function createRecentPast({ asOf, parts, memory }: Foundation): RecentPast {
  const limit = memoryLimit(memory)
  const wanted = limit < smallMemory ? Math.min(asOf.windowBytesMax, Math.floor(limit / 8)) : asOf.windowBytesMax
  return new RecentPast({ ageMsMax: asOf.windowSeconds * 1_000, bytesMax: parts.readOnly ? 0 : wanted })
}

export function createPastStates(engine: EngineHost): PastStates {
  const { base, backups, book, recent } = engine
  const collectionIdAt = async ({ databaseId, collection }: PastSubject, lsn: number) => {
    const found = await book.collectionAt(databaseId, collection, lsn)
    return found ?? refuseCollection(collection, 'collection', ` at LSN ${lsn}`)
  }
  const live = (id: number) => {
    const collection = engine.loaded(id)
    return collection?.condition === 'ready' && !collection.isClosed ? collection.recovering : undefined
  }
  const { side } = backups.host
  const lsnApplied = () => base.lsnApplied
  const read = base.parts.readMemory ?? memoryReader(base.memory)
  const host = { side, collectionIdAt, recent, lsnApplied, availableMemory: () => availableMemory(read()), live }
  return new PastStates(host, base.asOf.loadedBytesMax)
}

export function createPast(engine: EngineHost): PastDoor {
  const { base } = engine
  return {
    states: engine.pastStates,
    limits: base.limits,
    embedder: base.embedder,
    parse: (asOf) =>
      parseAsOf(asOf, { lsn: base.lsnApplied, nowMs: Math.max(base.clock.now(), base.timeMs), timeMs: base.timeMs }),
    check: () => {
      engine.checkOpen()
      engine.checkHistory()
    },
  }
}
