// The operations on the history of a database, on an engine.
import type { PastEvent as EngineEvent, ObjectVersion as EngineVersion, Moment } from '@annal/engine'
import type { ObjectChange, ObjectVersion, PastEvent, PastMoment } from '../history-info.ts'
import type { HistoryOperations } from '../operations.ts'
import type { Calls } from './calls.ts'
import { defined } from './defined.ts'
import { translated } from './failure.ts'

export const historyCalls: Calls<keyof HistoryOperations> = {
  async events({ database }, { since, ...request }) {
    const { events, next, previous, complete } = await database.history.events({
      ...defined(request),
      ...(since !== undefined && { sinceMs: since.getTime() }),
    })
    return {
      events: events.map(eventOf),
      ...(next !== undefined && { next }),
      ...(previous !== undefined && { previous }),
      complete,
    }
  },
  async versions({ database }, request) {
    const { versions, next, complete } = await database.history.versions(request)
    return { versions: versions.map(versionOf), ...(next !== undefined && { next }), complete }
  },
  diff({ database }, { collection, from, to, signal }) {
    return differences(database.history.diff({ collection, from: momentOf(from), to: to && momentOf(to) }), signal)
  },
  async undo({ database }, { asOf, ...request }, write) {
    return database.history.undo({ ...request, asOf: momentOf(asOf) }, write)
  },
  async activity({ database }, { from, to, ...request }) {
    const { bucketMs, buckets, complete } = await database.history.activity({
      ...defined(request),
      ...(from !== undefined && { fromMs: from.getTime() }),
      ...(to !== undefined && { toMs: to.getTime() }),
    })
    return {
      bucketSeconds: bucketMs / 1_000,
      buckets: buckets.map(({ startMs, ...bucket }) => ({ time: new Date(startMs), ...bucket })),
      complete,
    }
  },
}

function momentOf(moment: PastMoment): Moment {
  return 'time' in moment ? { timeMs: moment.time.getTime() } : moment
}

async function* differences(
  changes: AsyncIterable<ObjectChange>,
  signal: AbortSignal | undefined,
): AsyncGenerator<ObjectChange> {
  try {
    for await (const change of changes) {
      signal?.throwIfAborted()
      yield change
    }
  } catch (error) {
    translated(error)
  }
}

function versionOf({ timeMs, ...version }: EngineVersion): ObjectVersion {
  return { ...version, ...(timeMs !== undefined && { time: new Date(timeMs) }) }
}

function eventOf({ timeMs, kind, ...facts }: EngineEvent): PastEvent {
  // Only images have records of the kind that is left out.
  return { ...facts, time: new Date(timeMs), type: kind as Exclude<typeof kind, 'expiries-cleared'> }
}
