import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { decodeEvent } from '@annal/engine/events'
import { nodeVfs, readLogFiles } from '@annal/wal'
import { test } from 'tap'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'int8', M: 4, ef_con: 16 } },
  { name: 's', type: 'sparse', params: { model: 'default' } },
] as const

function objects(from: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `object ${from + i}`,
    meta: { at: from + i },
    filter: { tag: i % 2 === 0 ? 'even' : 'odd', n: from + i },
    fields: { v: [from + i, i, i % 3, 1], s: { indices: [i, i + 7], values: [1, 0.5] } },
  }))
}

async function fill(engine: Engine): Promise<void> {
  const database = engine.database()
  const a = await database.createCollection({ name: 'a', fields })
  await database.createCollection({ name: 'b', fields })
  await engine.control.createDatabase({ name: 'other' })
  const other = await engine.database('other').createCollection({ name: 'a', fields })
  for (let round = 0; round < 8; round++) {
    await Promise.all([a.upsert(objects(round * 40, 60)), other.upsert(objects(round * 3, 5))])
    await a.updateFilters([{ id: `object ${round * 40 + 1}`, filter: { tag: 'new', n: round } }])
    await a.delete([`object ${round * 40}`, `object ${round * 40 + 5}`])
    await a.deleteWhere([{ n: { $range: [round * 40 + 10, round * 40 + 20] } }])
    if (round === 4) await a.rebuild({ v: { M: 6 } })
  }
  await database.deleteCollection('b')
}

test('committing the events of a log again gives the same digests', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-repeat-'))
  const first = await openEngine({ dataDir: join(dir, 'first'), threads: 1, keepLog: true })
  await fill(first)
  const second = await openEngine({ dataDir: join(dir, 'second'), threads: 2, fsync: 'none' })
  const waiting: Promise<unknown>[] = []
  for await (const record of readLogFiles({ vfs: nodeVfs(), dir: join(dir, 'first', 'wal') })) {
    const event = decodeEvent(record)
    const repeated = second.repeat(event)
    // Object events need not wait for each other; changes of the catalog must be awaited.
    if (event.kind.startsWith('collection-') || event.kind.startsWith('database-')) await repeated
    else waiting.push(repeated)
  }
  await Promise.all(waiting)
  for (const [database, name] of [
    ['default', 'a'],
    ['other', 'a'],
  ] as const) {
    const [one, two] = [first, second].map((engine) => engine.database(database).collection(name))
    t.equal(two?.stateDigest(), one?.stateDigest(), `${database}/${name}`)
    t.equal(two?.describe().objects, one?.describe().objects)
  }
  t.equal(second.database().collections().length, 1)
  const orphan = { kind: 'objects-deleted', timeMs: 0, collectionId: 2, ids: ['x'] } as const
  await t.rejects(second.repeat(orphan), { code: 'collection_not_found' })
  const again = { kind: 'collection-dropped', timeMs: 0, collectionId: 2 } as const
  await t.rejects(second.repeat(again), { code: 'invalid_argument' }, 'refused before it is appended')
  t.equal(second.health().status, 'ok')
  await first.close()
  await second.close()
  await rm(dir, { recursive: true })
})
