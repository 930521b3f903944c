// Earlier names of calls work until 1.0, and behave like the new ones.
import { test } from 'tap'
import { openDirectory, openIn } from './search/rig.ts'

test('earlier names behave like the new ones', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const database = engine.database()
  const params = { dimension: 2, space_type: 'l2', precision: 'float32' } as const
  const things = await database.createCollection({ name: 'things', fields: [{ name: 'v', type: 'vector', params }] })
  await things.upsert([
    { id: 'a', fields: { v: [0, 1] } },
    { id: 'b', fields: { v: [0, 2] } },
  ])
  t.same(await things.get(['b', 'a']), await things.getMany(['b', 'a']))
  t.same([await things.get('b'), await things.get('c')], [(await things.getMany(['b']))[0], undefined])
  t.strictSame(things.neighbours('v', 'a'), things.neighbors('v', 'a'))
  t.equal((await things.replaceFilters([{ id: 'a', filter: { seen: true } }])).updated, 1)
  t.equal(things.count([{ seen: { $eq: true } }]).count, 1)
  await engine.control.createDatabase({ name: 'acme', token: { name: 'one', kind: 'r', hash: 'ab'.repeat(32) } })
  await engine.control.dropToken('acme', 'one')
  t.strictSame(engine.control.tokens('acme'), [])
  await engine.control.dropDatabase('acme')
  await database.dropCollection('things')
  t.strictSame([engine.control.databases().length, database.collections().length], [1, 0])
})
