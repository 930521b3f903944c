// Texts become vectors on nodes of a cluster, over real NATS: once, on the node that leads, before the log. A provider that never makes the same
// vector twice shows it.
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { type ClusterNode, caughtUp, digestsOf, leaderOf, startNodes } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

/** Its texts, in the order in which they came; the vector of each is its number, from 1, and something random. */
async function startProvider(t: Test): Promise<{ readonly url: string; readonly texts: readonly string[] }> {
  const texts: string[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(pieces).toString()) as { readonly input: readonly string[] }
      const data = input.map((text, index) => ({ index, embedding: [texts.push(text), Math.random()] }))
      response.end(JSON.stringify({ data }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, texts }
}

interface Stored {
  readonly id: string
  readonly fields: { readonly meaning?: { readonly vector: readonly number[] } }
}

test('a write on a follower and one on the leader get their vectors once, and all nodes have the same', {
  skip: skipNats,
}, async (t) => {
  const provider = await startProvider(t)
  const file = path.join(await temporaryDirectory(t), 'providers.json')
  // Without a cache, a second call for a text would be seen.
  const local = { kind: 'openai', url: provider.url, model: 'm', dimension: 2, cache_mb: 0 }
  await writeFile(file, JSON.stringify({ local }))
  const nodes = await startNodes(t, await startNatsServers(t, 1), 2, { NDD_PROVIDERS: file })
  const leader = await leaderOf(nodes)
  const follower = nodes.find((node) => node !== leader) as ClusterNode
  await until(async () => {
    const known = (await send(follower.url, 'GET', '/api/v2/cluster')).json() as { leader?: { node: string } }
    return known.leader?.node === leader.name
  })
  const fields = [
    { name: 'body', type: 'text' },
    {
      name: 'meaning',
      type: 'vector',
      params: { dimension: 2, space_type: 'l2', embed: { provider: 'local', from: 'body' } },
    },
  ]
  const made = await send(follower.url, 'POST', '/api/v2/collection', { json: { name: 'notes', fields } })
  t.equal(made.status, 200, made.text)
  const put = (node: ClusterNode, id: string, body: string) =>
    send(node.url, 'POST', '/api/v2/collection/notes/objects', { json: { objects: [{ id, fields: { body } }] } })
  const written: string[] = []
  for (let i = 0; i < 6; i++) {
    const [node, id] = [i % 2 === 0 ? follower : leader, `note ${i}`]
    const reply = await put(node, id, `the text of note ${i}`)
    t.equal(reply.status, 200, `${node === leader ? 'leader' : 'follower'}: ${reply.text}`)
    written.push(id)
  }
  t.strictSame(
    provider.texts,
    written.map((_, i) => `the text of note ${i}`),
    'each text was sent once',
  )
  await caughtUp(leader, nodes)
  const read = async (node: ClusterNode): Promise<readonly Stored[]> => {
    const json = { ids: written }
    const reply = await send(node.url, 'POST', '/api/v2/collection/notes/objects/query', {
      json,
      accept: 'application/json',
    })
    return reply.json().objects as unknown as readonly Stored[]
  }
  const [ofLeader, ofFollower] = await Promise.all([read(leader), read(follower)])
  t.strictSame(ofFollower, ofLeader)
  t.strictSame(
    ofLeader.map((one) => one.fields.meaning?.vector[0]),
    written.map((_, i) => i + 1),
    'the vectors are those of the calls of the writes',
  )

  // A query is made into a vector by the node that answers.
  const search = { fields: { meaning: { query: { text: 'query' }, limit: 1 } } }
  for (const node of nodes) {
    const reply = await send(node.url, 'POST', '/api/v2/collection/notes/search', {
      json: search,
      accept: 'application/json',
    })
    t.match(reply.json(), { results: { meaning: [{ id: 'note 5' }] } })
  }
  t.equal(provider.texts.length, written.length + nodes.length)

  // A node that starts again reads vectors from the log.
  await follower.signal('SIGKILL')
  await follower.start()
  await until(async () => JSON.stringify(await read(follower)) === JSON.stringify(ofLeader))
  t.equal(provider.texts.length, written.length + nodes.length, 'nothing was sent for it')
  const { digests, missing } = await digestsOf(nodes, { collection: 'notes', ids: written })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, digests.join())
})
