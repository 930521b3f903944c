// One write from its append to its acknowledgement: what happens in which order, what each step receives, and what remains when a
// step fails.
import { setImmediate } from 'node:timers/promises'
import type { Appended, Log, Lsn, NewRecord } from '@annal/wal'
import { test } from 'tap'
import { Committer, type EventDraft } from '../src/commit.ts'
import { decodeEvent, encodeEvent } from '../src/events/codec.ts'
import { upsertPieces } from '../src/events/upsert-pieces.ts'
import type { Event } from '../src/model/event.ts'
import { WriteGate } from '../src/replica/write-gate.ts'

interface World {
  readonly committer: Committer
  readonly clock: { ms: number }
  /** What happened, oldest first. */
  readonly trace: string[]
  readonly appended: NewRecord[]
  /** The appends that did not settle yet, oldest first. */
  readonly appends: PromiseWithResolvers<Appended>[]
  /** The LSNs up to which everything was applied, in their order. */
  readonly advanced: number[]
}

function openWorld(): World {
  const trace: string[] = []
  const appended: NewRecord[] = []
  const appends: PromiseWithResolvers<Appended>[] = []
  const advanced: number[] = []
  const log = {
    append(record: NewRecord) {
      trace.push('append')
      appended.push(record)
      const pending = Promise.withResolvers<Appended>()
      appends.push(pending)
      return pending.promise
    },
  }
  const clock = { ms: 1_000 }
  const committer = new Committer({
    log: log as unknown as Log,
    clock: { now: () => clock.ms },
    onBroken: (error) => trace.push(`broken ${error.message}`),
    onApplied: (event, bytes) => trace.push(`applied ${event.kind} ${bytes}`),
    onAdvanced: (lsn) => void advanced.push(lsn),
  })
  return { committer, clock, trace, appended, appends, advanced }
}

const drop: EventDraft = { kind: 'collection-dropped', collectionId: 4 }
const columns = {
  ids: ['a', 'b'],
  metas: [new Uint8Array([1]), new Uint8Array()],
  filters: ['{"a":1}', ''],
  dense: [],
  sparse: [],
  multi: [],
  text: [],
}
const upsert: EventDraft = { kind: 'objects-upserted', collectionId: 4, ...columns }

function settle(pending: PromiseWithResolvers<Appended> | undefined, lsn: number): void {
  pending?.resolve({ lsn: lsn as Lsn, durable: true })
}

function bytesOf({ payload }: NewRecord): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : payload)
}

test('a write is appended in the turn of the call, applied when it is durable, and acknowledged when it is applied', async (t) => {
  const { committer, trace, appended, appends } = openWorld()
  const gate = new WriteGate()
  const calls: [number, Event][] = []
  const applying = Promise.withResolvers<string>()
  const written = committer.commit(drop, gate, (lsn, event) => {
    trace.push('apply')
    calls.push([lsn, event])
    return applying.promise
  })
  const acknowledged = written.then(() => trace.push('acknowledged'))
  t.strictSame(trace, ['append'])
  const event = { ...drop, timeMs: 1_000 } as Event
  t.strictSame(appended, [{ ...encodeEvent(event), usesReserve: true }])
  t.strictSame(gate.pending, { events: 1, bytes: bytesOf(appended[0] as NewRecord).length })
  await setImmediate()
  t.strictSame(trace, ['append'], 'nothing is applied before the record is durable')

  settle(appends[0], 7)
  await setImmediate()
  t.strictSame(trace, ['append', 'apply'])
  t.strictSame(calls, [[7, event]])
  t.equal(committer.lsnApplied, 0, 'a record that is being applied is not counted')

  applying.resolve('a result')
  await acknowledged
  t.strictSame(await written, { lsn: 7, durable: true, result: 'a result' })
  const bytes = bytesOf(appended[0] as NewRecord).length
  t.ok(bytes > 0)
  t.strictSame(trace, ['append', 'apply', `applied collection-dropped ${bytes}`, 'acknowledged'])
  t.equal(committer.lsnApplied, 7)
  t.strictSame(gate.pending, { events: 0, bytes: 0 })
})

test('time in the log never runs backward, and continues where recovery ended', async (t) => {
  const { committer, clock, appended, appends } = openWorld()
  t.strictSame([committer.lsnApplied, committer.timeMs], [0, 0])
  const gate = new WriteGate()
  const times = () =>
    appended.map((record) => decodeEvent({ ...record, payload: bytesOf(record) })).map(({ timeMs }) => timeMs)
  const commit = () => committer.commit(drop, gate, () => undefined)
  clock.ms = 0
  const writes = [commit()]
  t.strictSame(times(), [0])
  committer.startAfter({ lsn: 41, timeMs: 5_000 })
  t.strictSame([committer.lsnApplied, committer.timeMs], [41, 5_000])
  for (const ms of [4_000, 6_000, 5_500]) {
    clock.ms = ms
    writes.push(commit())
  }
  t.strictSame(times(), [0, 5_000, 6_000, 6_000])
  t.equal(committer.timeMs, 6_000)
  for (const [i, pending] of appends.entries()) settle(pending, 42 + i)
  await Promise.all(writes)
  t.equal(committer.lsnApplied, 45)
})

test('a record counts as applied when all earlier ones are, whichever collection they belong to', async (t) => {
  const { committer, appends, advanced } = openWorld()
  const gates = [new WriteGate(), new WriteGate(), new WriteGate()]
  const applies = gates.map(() => Promise.withResolvers<void>())
  const writes = gates.map((gate, i) => committer.commit(drop, gate, () => applies[i]?.promise))
  for (const [i, pending] of appends.entries()) settle(pending, 10 + i)
  applies[2]?.resolve()
  await writes[2]
  t.equal(committer.lsnApplied, 0)
  applies[0]?.resolve()
  await writes[0]
  t.equal(committer.lsnApplied, 10)
  applies[1]?.resolve()
  await writes[1]
  t.equal(committer.lsnApplied, 12)
  t.strictSame(advanced, [10, 12])
})

test('a record that the log refuses is not applied, and its writer receives the reason', async (t) => {
  const { committer, trace, appends } = openWorld()
  const gate = new WriteGate()
  const earlier = Promise.withResolvers<void>()
  const first = committer.commit(drop, gate, () => earlier.promise)
  const refused = committer.commit(drop, gate, () => t.fail('it was applied'))
  appends[1]?.reject(new Error('the log is full'))
  // Its turn in the queue comes later: meanwhile nothing may take the refusal for an unhandled one.
  await setImmediate()
  settle(appends[0], 1)
  earlier.resolve()
  await first
  await t.rejects(refused, { message: 'the log is full' })
  t.notOk(trace.some((line) => line.startsWith('broken')))
  t.equal(committer.lsnApplied, 1)
  t.strictSame(gate.pending, { events: 0, bytes: 0 })
  const next = committer.commit(drop, gate, () => 'next')
  settle(appends[2], 2)
  t.match(await next, { lsn: 2, result: 'next' })
  t.equal(committer.lsnApplied, 2)
})

test('a record that cannot be applied stops the engine, and neither it nor a later one counts as applied', async (t) => {
  const { committer, trace, appends } = openWorld()
  const failed = committer.commit(drop, new WriteGate(), async () => Promise.reject(new Error('memory differs')))
  const later = committer.commit(drop, new WriteGate(), () => undefined)
  settle(appends[0], 1)
  settle(appends[1], 2)
  await t.rejects(failed, { message: 'memory differs' })
  await later
  t.equal(committer.lsnApplied, 0)
  t.strictSame(trace.filter((line) => !line.startsWith('append')).toSorted(), [
    `applied collection-dropped ${encodeEvent({ ...drop, timeMs: 1 } as Event).payload.length}`,
    'broken memory differs',
  ])
})

test('records that free space or revoke access use the reserve of the log, and no others', async (t) => {
  const inDatabase = { databaseId: 2 }
  const drafts: readonly (readonly [EventDraft, boolean])[] = [
    [{ kind: 'objects-deleted', collectionId: 1, ids: ['a'] }, true],
    [{ kind: 'collection-dropped', collectionId: 1 }, true],
    [{ kind: 'database-dropped', ...inDatabase, collectionIds: [1] }, true],
    [{ kind: 'database-changed', ...inDatabase, type: 'pro', active: false }, true],
    [{ kind: 'token-dropped', ...inDatabase, name: 'a' }, true],
    [{ kind: 'alias-dropped', ...inDatabase, name: 'a' }, true],
    [{ kind: 'alias-put', ...inDatabase, name: 'a', targetId: 1 }, false],
    [{ kind: 'filters-replaced', collectionId: 1, ids: ['a'], filters: [''] }, false],
    [{ kind: 'setting-put', key: 'a', value: 'b' }, false],
    [upsert, false],
  ]
  const { committer, appended, appends } = openWorld()
  const gate = new WriteGate()
  const writes = drafts.map(([draft]) => committer.commit(draft, gate, () => undefined))
  for (const [i, [{ kind }, usesReserve]] of drafts.entries()) t.equal(appended[i]?.usesReserve, usesReserve, kind)
  for (const [i, pending] of appends.entries()) settle(pending, i + 1)
  await Promise.all(writes)
})

test('an upsert whose columns are encoded already is the same record, and is counted with all its pieces', async (t) => {
  const { committer, trace, appended, appends } = openWorld()
  const gate = new WriteGate()
  const pieces = [...upsertPieces(columns)]
  t.ok(pieces.length > 1)
  const writes = [
    committer.commit(upsert, gate, () => undefined, { pieces }),
    committer.commit(upsert, gate, () => undefined),
    // Pieces belong to upserts alone.
    committer.commit(drop, gate, () => undefined, { pieces }),
  ]
  const [inPieces, whole, other] = appended as [NewRecord, NewRecord, NewRecord]
  const head = (inPieces.payload as readonly Uint8Array[]).length - pieces.length
  t.equal(head, 1, 'time and collection come before the pieces')
  t.ok(whole.payload instanceof Uint8Array)
  t.strictSame(
    decodeEvent({ ...inPieces, payload: bytesOf(inPieces) }),
    decodeEvent({ ...whole, payload: bytesOf(whole) }),
  )
  t.match(decodeEvent({ ...other, payload: bytesOf(other) }), drop)
  for (const [i, pending] of appends.entries()) settle(pending, i + 1)
  await Promise.all(writes)
  t.strictSame(
    trace.filter((line) => line.startsWith('applied')),
    appended.map((record, i) => `applied ${i === 2 ? drop.kind : upsert.kind} ${bytesOf(record).length}`),
  )
})
