// The author of a record: written with every kind of write, read without decoding the event, kept over a restart, and without effect on
// the state.
import { writtenBy } from '@annal/engine'
import { test } from 'tap'
import { authorOf } from '../../src/events/author.ts'
import { decodeEvent, encodeEvent, peekEvent, withAuthor, withRequest } from '../../src/events/codec.ts'
import { factsOf } from '../../src/events/record-facts.ts'
import { requestOf } from '../../src/events/request-record.ts'
import type { Event } from '../../src/model/event.ts'
import { denseField, openedEngine, temporaryDirectory } from '../backup/rig.ts'

const author = { token: 'default', actor: 'agent 7' }
const long = { token: 't'.repeat(128), actor: 'a'.repeat(128) }
const request = { id: Buffer.alloc(16, 7), digest: Buffer.alloc(16, 9), facts: '{"upserted":2}' }
const events: Event[] = [
  { kind: 'objects-deleted', timeMs: 6, collectionId: 300, ids: ['a'] },
  { kind: 'database-dropped', timeMs: 8, databaseId: 2, collectionIds: [1, 9] },
  { kind: 'setting-put', timeMs: 9, key: 'k', value: 'v' },
]

function joined(payload: Uint8Array | readonly Uint8Array[]): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : payload)
}

for (const event of events)
  for (const one of [author, long, { token: '', actor: 'x' }])
    for (const isKeyed of [false, true])
      test(`${event.kind} by ${one.token.length} and ${one.actor.length} characters, keyed: ${isKeyed}`, async (t) => {
        const bare = encodeEvent(event)
        const authored = withAuthor(bare, one)
        const { type, version, payload } = isKeyed ? withRequest(authored, request) : authored
        const stored = { type, version, payload: joined(payload) }
        t.equal(version, 8, 'an earlier version reads records up to 7')
        const bytes = joined(bare.payload)
        t.strictSame(decodeEvent(stored), decodeEvent({ ...bare, payload: bytes }))
        t.strictSame(peekEvent(stored.payload), peekEvent(bytes))
        t.strictSame(authorOf(stored), one)
        t.equal(requestOf(stored)?.facts, isKeyed ? request.facts : undefined)
        const facts = factsOf({ ...bare, lsn: 1, payload: bytes })
        t.strictSame(factsOf({ ...stored, lsn: 1 }), { ...facts, bytes: stored.payload.length, author: one })
        t.equal(authorOf({ version: 1, payload: bytes }), undefined)
      })

test('every write keeps its actor and its token, the next one does not, and both survive a restart', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const engine = await openedEngine(t, { dataDir })
  const database = engine.database()
  const by = (actor: string) => ({ actor })
  const films = await database.createCollection({ name: 'films', fields: [denseField()] }, by('create'))
  const objects = ['a', 'b', 'c'].map((id) => ({ id, fields: { v: [1, 2, 3, 4, 5, 6, 7, 8] } }))
  await films.upsert(objects, by('upsert'))
  await films.upsert(objects)
  await films.upsert(objects, { actor: 'keyed', requestKey: 'k1' })
  await films.updateFilters([{ id: 'a', filter: { n: 1 } }], by('filters'))
  await films.delete(['b'], by('delete'))
  await films.deleteWhere([{ n: { $eq: 1 } }], by('where'))
  await films.vacuum(by('vacuum'))
  await films.rebuild({ v: { M: 5 } }, by('rebuild'))
  await films.updateFields({ v: { recall: 0.9 } }, by('fields'))
  await database.backups.clone('films', 'copy', by('clone'))
  await database.deleteCollection('copy', by('drop'))
  await engine.control.putSetting('k', 'v', by('setting'))
  await writtenBy({ token: 'default', actor: '' }, () => films.upsert(objects))
  await writtenBy({ token: 'default', actor: 'outer' }, () => films.upsert(objects, by('inner')))
  await Promise.all(['x', 'y', 'z'].map((actor) => films.upsert(objects.slice(0, 1), { actor })))
  const listed = async (from: Awaited<ReturnType<typeof openedEngine>>) =>
    (await from.database().history.events({ from: 1 })).events.map(({ author }) => author)
  const actors = ['create', 'upsert', undefined, 'keyed', 'filters', 'delete', 'where', 'vacuum', 'rebuild', 'fields']
  const expected = [
    ...[...actors, 'clone', 'drop'].map((actor) => (actor === undefined ? undefined : { token: '', actor })),
    { token: 'default', actor: '' },
    { token: 'default', actor: 'inner' },
    ...['x', 'y', 'z'].map((actor) => ({ token: '', actor })),
  ]
  t.strictSame(await listed(engine), expected)
  const digest = films.stateDigest()
  await engine.close()
  const again = await openedEngine(t, { dataDir })
  t.strictSame(await listed(again), expected)
  t.equal(again.database().collection('films').stateDigest(), digest)
})

test('an actor that no record may have is refused with its limit, and nothing is written', async (t) => {
  const engine = await openedEngine(t)
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  const lsn = engine.lsnApplied
  for (const actor of ['', ' a', 'a ', 'a\n', 'ä', 'a'.repeat(129), 7 as never, null as never]) {
    const refused = { code: 'invalid_argument', details: { field: 'actor', limit: 128 } }
    await t.rejects(films.delete(['a'], { actor }), refused, String(actor))
    await t.rejects(engine.control.putSetting('k', 'v', { actor }), refused)
    await t.rejects(films.rebuild({}, { actor }), refused)
  }
  t.equal(engine.lsnApplied, lsn)
})
