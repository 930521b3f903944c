// Texts become vectors by a provider: an import that fails in the middle and continues, and an agent that searches by meaning.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { connect } from '@annal/client'
import { type Test, test } from 'tap'
import { freshDir, serve, start } from './command.ts'
import { mcpAgent } from './mcp-agent.ts'

interface Provider {
  readonly url: string
  /** Texts that got a vector. */
  texts(): number
  /** Refuses every call after this many texts. */
  failAfter(texts: number): void
}

async function provider(t: Test): Promise<Provider> {
  let [made, most] = [0, Number.POSITIVE_INFINITY]
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(pieces).toString()) as { readonly input: readonly string[] }
      if (made + input.length > most) return response.writeHead(403).end()
      made += input.length
      const data = input.map((text, index) => ({ index, embedding: [text.length, text.split('a').length] }))
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    texts: () => made,
    failAfter(texts) {
      most = texts
    },
  }
}

async function world(t: Test) {
  const dir = freshDir(t)
  const made = await provider(t)
  const file = path.join(dir, 'providers.json')
  writeFileSync(
    file,
    JSON.stringify({ local: { kind: 'openai', url: made.url, model: 'm', dimension: 2, batch_size: 50 } }),
  )
  const { address } = await serve(t, path.join(dir, 'data'), { NDD_PROVIDERS: file })
  const client = connect({ url: address })
  const notes = await client.createCollection({
    name: 'notes',
    fields: [
      { name: 'body', type: 'text', params: { language: 'english' } },
      {
        name: 'meaning',
        type: 'vector',
        params: { dimension: 2, spaceType: 'l2', embed: { provider: 'local', from: 'body' } },
      },
    ],
  })
  return { dir, made, address, notes }
}

test('the providers of a server are listed without their addresses', async (t) => {
  const { made, address } = await world(t)
  const text = await start(['providers', '--server', address]).ended
  t.match(text, { code: 0, out: /^provider +kind +model +dimension\nlocal +openai +m +2\n$/ })
  const json = await start(['providers', '--server', address, '--json']).ended
  t.strictSame(JSON.parse(json.out), { providers: [{ name: 'local', kind: 'openai', model: 'm', dimension: 2 }] })
  t.notMatch(text.out + json.out, new URL(made.url).host)
})

test('an import of texts stops at an error of the provider, and continues where it stopped', async (t) => {
  const { dir, made, address, notes } = await world(t)
  const total = 2_000
  const objects = Array.from({ length: total }, (_, i) => ({
    id: `n${i}`,
    fields: { body: `note ${i} ${'a'.repeat(i % 9)}` },
  }))
  const source = path.join(dir, 'notes.jsonl')
  writeFileSync(source, objects.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const state = path.join(dir, 'notes.state')
  const importing = () =>
    start(['import', 'notes', source, '--server', address, '--batch', '200', '--resume', state]).ended

  made.failAfter(900)
  const first = await importing()
  t.not(first.code, 0)
  t.match(first.err, /of 200 objects have no vector in field "meaning", so none was written/)
  t.match(first.err, /replied 403 \(provider local\)/)
  t.match(first.err, /800 objects are stored; run the same command with --resume/)
  t.equal(await notes.count(), 800, 'nothing of the failed batch is stored')

  made.failAfter(Number.POSITIVE_INFINITY)
  const second = await importing()
  t.equal(second.code, 0, second.err)
  t.match(second.out, /objects stored in .* in addition to \d+ stored before/)
  t.equal(await notes.count(), total)
  t.equal(made.texts(), total, 'texts of the failed batch that had vectors are not sent again')
  const { results } = await notes.search({
    exact: true,
    fields: { meaning: { query: { text: 'note 1999 a' }, limit: 1 } },
  })
  t.equal(Math.abs(results.meaning[0]?.similarity ?? 1), 0)
  const [stored] = await notes.getMany(['n7'])
  t.strictSame(stored?.text, { body: 'note 7 aaaaaaa' })
  t.strictSame(Array.from(stored?.dense.meaning?.vector ?? []), [14, 8])
})

test('an agent stores texts, and searches by words and by meaning', async (t) => {
  const { address, notes } = await world(t)
  const agent = await mcpAgent(t, start(['mcp', '--server', address, '--allow-writes']))
  const stored = await agent.tool('upsert_objects', {
    collection: 'notes',
    objects: [
      { id: 'a', fields: { body: 'banana bread' } },
      { id: 'b', fields: { body: 'onion soup' } },
    ],
  })
  t.match(JSON.parse(stored.text), { durable: true })
  const found = await agent.tool('search', {
    collection: 'notes',
    fields: { meaning: { query: { text: 'ananas cream' }, limit: 1 }, body: { query: 'soups' } },
  })
  t.match(JSON.parse(found.text), { results: { meaning: [{ id: 'a' }], body: [{ id: 'b' }] } })
  const clauses = { should: ['bread', { prefix: 'oni' }], must_not: ['soup'] }
  const without = await agent.tool('search', { collection: 'notes', fields: { body: { query: clauses } } })
  t.strictSame(
    JSON.parse(without.text).results.body.map(({ id }: { readonly id: string }) => id),
    ['a'],
  )
  const match = { body: { query: clauses } }
  t.match(JSON.parse((await agent.tool('count_objects', { collection: 'notes', match })).text), { count: 1 })
  const both = { body: { query: 'soup bread', operator: 'and' } }
  t.match(JSON.parse((await agent.tool('count_objects', { collection: 'notes', match: both })).text), { count: 0 })
  t.match((await agent.tool('list_objects', { collection: 'notes', match })).text, /^\{"id":"a"/)
  t.match(JSON.parse((await agent.tool('facets', { collection: 'notes', key: 'k', match })).text), { distinct: 0 })
  const exported = await start(['export', 'notes', '--server', address, '--match', '{"body":{"query":"soups"}}']).ended
  t.match(exported, { code: 0, out: /^\{"id":"b".*\}\n$/ })
  const linesOf = async (...options: string[]) => {
    const { code, out } = await start(['export', 'notes', '--server', address, ...options]).ended
    t.equal(code, 0)
    return out.trim().split('\n')
  }
  const fieldsOf = async (...options: string[]) =>
    (await linesOf(...options)).map((line) => Object.keys((JSON.parse(line) as { fields: object }).fields))
  t.strictSame(await fieldsOf('--no-vectors'), [['body'], ['body']])
  t.strictSame(await fieldsOf('--no-texts'), [['meaning'], ['meaning']])
  t.strictSame(await linesOf('--no-vectors', '--format', 'csv'), [
    'id,meta,meta_base64,filter,expires_at,fields.body',
    'a,,,,,banana bread',
    'b,,,,,onion soup',
  ])
  const wrong = await start(['export', 'notes', '--server', address, '--match', '["soups"]']).ended
  t.match(wrong, { code: 64, err: /--match must be a JSON object/ })
  t.equal(await notes.count(), 2)
  const { fields } = await notes.describe()
  t.match(fields[1], { params: { embed: { provider: 'local', from: 'body', model: 'm' } } })
  await agent.close()
})

test('text columns of CSV and Parquet become text fields, and a provider makes their vectors', async (t) => {
  const { dir, made, address } = await world(t)
  const client = connect({ url: address })
  const options = (...more: string[]) => [...more, '--server', address]
  const csv = path.join(dir, 'parts.csv')
  const texts = { '1': 'A pump, with "two" valves\nand a motor', '2': '4711', '3': '[1,2]' }
  const rows = Object.entries(texts).map(([id, text]) => `${id},"${text.replaceAll('"', '""')}",1${id}\n`)
  writeFileSync(csv, `sku,description,price\n${rows.join('')}`)
  const columns = ['sku=id', 'description=fields.body', 'price=filter.price'].flatMap((one) => ['--column', one])
  const create = options('import', 'parts', csv, '--create', ...columns, '--space', 'l2')
  const without = await start(create).ended
  t.match(without, { code: 65, err: /row 1, column description: not a vector .*--text names a field of type text/ })
  for (const [more, said] of [
    [['--text', ':english'], /--text :english: use NAME or NAME:LANGUAGE/],
    [['--embed', 'meaning=local'], /--embed meaning=local: use NAME=PROVIDER:TEXT/],
    [['--embed', 'meaning=far:body'], /the server has no provider far; it has local/],
    [['--text', 'body:klingon'], /klingon/],
  ] as const)
    t.match(await start([...create, ...more]).ended, { code: /^6[45]$/, err: said }, more.join(' '))
  const early = await start(options('import', 'notes', csv, ...columns, '--embed', 'meaning=local:body')).ended
  t.match(early, { code: 64, err: /--embed needs --create/ })

  const stored = await start([...create, '--text', 'body:english', '--embed', 'meaning=local:body']).ended
  t.match(stored, { code: 0, out: /^3 objects stored/ }, stored.err)
  const bare = path.join(dir, 'bare.csv')
  writeFileSync(bare, 'sku,description\n1,words\n2,\n')
  const texted = ['--create', '--column', 'sku=id', '--column', 'description=fields.body', '--text', 'body']
  t.match(await start(options('import', 'bare', bare, ...texted)).ended, { code: 0, out: /^2 objects stored/ })
  t.strictSame(
    (await client.collection('bare').getMany(['2'])).map(({ text }) => text),
    [{ body: '' }],
  )
  const parts = client.collection('parts')
  const { fields } = await parts.describe()
  t.match(fields, [
    { name: 'body', type: 'text', params: { language: 'english' } },
    {
      name: 'meaning',
      type: 'vector',
      params: { dimension: 2, spaceType: 'l2', embed: { provider: 'local', from: 'body', model: 'm' } },
    },
  ])
  const read = async (name: string) => {
    const objects = await client.collection(name).getMany(['1', '2', '3'])
    return objects.map(({ id, filter, text, dense }) => ({ id, filter, text, vector: dense.meaning?.vector }))
  }
  const first = await read('parts')
  t.strictSame(
    first.map(({ id, filter, text }) => ({ id, filter, text })),
    Object.entries(texts).map(([id, body]) => ({ id, filter: { price: Number(`1${id}`) }, text: { body } })),
  )
  t.strictSame([...(first[0]?.vector ?? [])], [texts['1'].length, texts['1'].split('a').length])
  const found = await parts.search({
    fields: { body: { query: 'valve' }, meaning: { query: { text: '[1,2]' }, limit: 1 } },
  })
  t.strictSame(
    [found.results.body, found.results.meaning].map((hits) => hits?.map(({ id }) => id)),
    [['1'], ['3']],
  )

  // Back and forth, into collections whose text fields are known.
  const calls = made.texts()
  for (const format of ['csv', 'parquet', 'jsonl']) {
    const file = path.join(dir, `parts.${format}`)
    t.equal((await start(options('export', 'parts', '-o', file)).ended).code, 0)
    const definition = fields.map(({ name, type, params }) => ({ name, type, params }))
    await client.createCollection({ name: format, fields: definition as never })
    const back = await start(options('import', format, file)).ended
    t.match(back, { code: 0, out: /^3 objects stored/ }, format)
    t.strictSame(await read(format), first, format)
  }
  t.equal(made.texts(), calls, 'vectors of a file are kept')
})

test('the error of a client names the objects', async (t) => {
  const { made, notes } = await world(t)
  made.failAfter(0)
  const error = await notes.upsert([{ id: 'a', fields: { body: 'one' } }]).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.match(error, { code: 'embedding_failed', status: 502, field: 'meaning', items: [{ id: 'a', reason: /403/ }] })
})
