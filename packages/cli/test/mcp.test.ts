// An agent on the other end of `annal mcp`: it finds tools, searches, and can change nothing unless that was allowed.
import { createInterface } from 'node:readline'
import { connect, denseField } from '@annal/client'
import { type Test, test } from 'tap'
import { freshDir, serve, start } from './command.ts'

interface Reply {
  readonly id?: number
  readonly result?: {
    readonly tools?: readonly { readonly name: string }[]
    readonly content?: readonly { readonly text: string }[]
  }
  readonly error?: unknown
}

/** Speaks the protocol line by line. */
async function agent(t: Test, server: string, ...options: readonly string[]) {
  const { child, ended } = start(['mcp', '--server', server, ...options])
  const replies = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let id = 0
  const ask = async (method: string, params: object = {}): Promise<Reply> => {
    id += 1
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    for (;;) {
      const { value, done } = await replies.next()
      if (done) throw new Error(`the connection ended: ${(await ended).err}`)
      const reply = JSON.parse(value) as Reply
      if (reply.id === id) return reply
    }
  }
  t.teardown(() => child.kill('SIGKILL'))
  const clientInfo = { name: 'test', version: '1' }
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  const tool = async (name: string, input: object) => {
    const reply = await ask('tools/call', { name, arguments: input })
    return { reply, text: reply.result?.content?.[0]?.text ?? '' }
  }
  const close = () => {
    child.stdin?.end()
    return ended
  }
  return { ask, tool, close }
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
