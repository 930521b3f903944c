// An agent connected to `annal mcp`: it lists tools, searches, and can change data only if that was allowed.
import { connect, denseField } from '@annal/client'
import { type Test, test } from 'tap'
import { freshDir, serve, start } from './command.ts'
import { mcpAgent } from './mcp-agent.ts'

function agent(t: Test, server: string, ...options: readonly string[]) {
  return mcpAgent(t, start(['mcp', '--server', server, ...options]))
}

test('an agent searches and reads, and writes only where that is allowed', async (t) => {
  const { address } = await serve(t, freshDir(t))
  const films = await connect({ url: address }).createCollection({
    name: 'films',
    fields: [denseField('plot', { dimension: 2 })],
  })
  await films.upsert([
    { id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979 }, fields: { plot: [1, 0] } },
    { id: 'paterson', filter: { year: 2016 }, fields: { plot: [0, 1] } },
  ])

  const reader = await agent(t, address)
  const tools = (await reader.ask('tools/list')).result?.tools?.map(({ name }) => name)
  t.same(tools, ['list_collections', 'search', 'get_objects', 'list_objects', 'count_objects', 'facets'])
  t.match(JSON.parse((await reader.tool('list_collections', {})).text), [{ name: 'films', count: 2 }])
  const found = await reader.tool('search', {
    collection: 'films',
    fields: { plot: { query: [1, 0.1] } },
    filter: [{ year: { $lt: 2000 } }],
  })
  t.match(JSON.parse(found.text), { results: { plot: [{ id: 'alien', meta: { title: 'Alien' } }] } })
  t.match(JSON.parse((await reader.tool('count_objects', { collection: 'films' })).text), { count: 2 })
  t.match((await reader.tool('get_objects', { collection: 'films', ids: ['paterson'] })).text, '"id":"paterson"')
  const bare = await reader.tool('get_objects', { collection: 'films', ids: ['paterson'], include_vectors: false })
  t.strictSame(JSON.parse(bare.text).fields, {})
  t.match((await reader.tool('count_objects', { collection: 'nowhere' })).text, 'there is no collection')
  t.ok((await reader.tool('delete_objects', { collection: 'films', filter: [] })).reply, 'there is an answer')
  t.equal(await films.count(), 2)
  t.equal((await reader.close()).code, 0)

  const writer = await agent(t, address, '--allow-writes')
  const stored = await writer.tool('upsert_objects', {
    collection: 'films',
    objects: [{ id: 'new', fields: { plot: [1, 1] } }],
  })
  t.match(JSON.parse(stored.text), { durable: true })
  const deleted = await writer.tool('delete_objects', { collection: 'films', filter: [{ year: { $gt: 2000 } }] })
  t.same(JSON.parse(deleted.text), { deleted: 1 })
  t.equal(await films.count(), 2)
  t.equal((await writer.close()).code, 0)
})
