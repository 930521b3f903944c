// The request in front of an event: the event reads as before, the key is found without decoding it, and earlier versions refuse the record.
import { test } from 'tap'
import { decodeEvent, encodeEvent, peekEvent, upsertRecord, withRequest } from '../../src/events/codec.ts'
import { factsOf } from '../../src/events/record-facts.ts'
import { requestOf } from '../../src/events/request-record.ts'
import { upsertPieces } from '../../src/events/upsert-pieces.ts'
import type { Event } from '../../src/model/event.ts'

const request = { id: Buffer.alloc(16, 7), digest: Buffer.alloc(16, 9), facts: '{"upserted":2}' }
const columns = { ids: ['a', 'b'], metas: [new Uint8Array([1]), new Uint8Array()], filters: ['', '{"x":1}'] }
const upsert = { ...columns, dense: [], sparse: [], multi: [], text: [] }
const events: Event[] = [
  { kind: 'objects-upserted', timeMs: 5, collectionId: 3, ...upsert },
  { kind: 'objects-deleted', timeMs: 6, collectionId: 300, ids: ['a'] },
  { kind: 'collection-dropped', timeMs: 7, collectionId: 3 },
  { kind: 'database-dropped', timeMs: 8, databaseId: 2, collectionIds: [1, 9] },
  { kind: 'setting-put', timeMs: 9, key: 'k', value: 'v' },
  { kind: 'request-answered', timeMs: 10 },
]

function joined(payload: Uint8Array | readonly Uint8Array[]): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : payload)
}

for (const facts of ['', request.facts, JSON.stringify({ long: 'ä😀'.repeat(2_000) })])
  for (const event of events)
    test(`${event.kind} with ${facts.length} characters of facts`, async (t) => {
      const bare = encodeEvent(event)
      const record = withRequest(bare, { ...request, facts })
      const stored = { type: record.type, version: record.version, payload: joined(record.payload) }
      t.equal(stored.version, 7, 'an earlier version reads records up to 6')
      t.strictSame(decodeEvent(stored), decodeEvent({ ...bare, payload: joined(bare.payload) }))
      t.strictSame(peekEvent(stored.payload), peekEvent(joined(bare.payload)))
      const found = requestOf(stored)
      t.strictSame(
        { ...found, id: Buffer.from(found?.id ?? []), digest: Buffer.from(found?.digest ?? []) },
        { ...request, facts },
      )
      const bytes = joined(bare.payload)
      const factsOfBare = factsOf({ ...bare, lsn: 1, payload: bytes })
      t.strictSame(factsOf({ ...stored, lsn: 1 }), { ...factsOfBare, bytes: stored.payload.length })
    })

test('a record without a request has the version it had', async (t) => {
  for (const event of events.slice(0, 5)) {
    const { version, payload } = encodeEvent(event)
    t.equal(version, 1, event.kind)
    t.equal(requestOf({ version, payload: joined(payload) }), undefined)
  }
})

test('an upsert in pieces takes a request as well', async (t) => {
  const event = events[0] as Event & { kind: 'objects-upserted' }
  const record = withRequest(upsertRecord(event, [...upsertPieces(upsert)]), request)
  t.strictSame(joined(record.payload), joined(withRequest(encodeEvent(event), request).payload))
})
