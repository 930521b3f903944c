// Stored meta in every reply that has any: MessagePack has the stored bytes, JSON what the codec of the engine makes of them, and no
// stored bytes make a reply fail.
import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { createIndex, runningApp } from './running-app.ts'

interface Case {
  readonly name: string
  /** In base64. */
  readonly stored: string
  /** Undefined: the bytes are opaque, or inflate beyond the limit of one object. */
  readonly meta?: Record<string, unknown>
}

const file = new URL('../../engine/test/golden/packed-meta.json', import.meta.url)
const cases: readonly Case[] = JSON.parse(await readFile(file, 'utf8'))
const accept = 'application/json'

interface Replied {
  readonly id: string
  readonly meta?: unknown
  readonly meta_base64?: string
}

test('both APIs return the same meta for the same stored bytes', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { index_name: 'docs', dim: 2, space_type: 'l2', precision: 'float32' })
  const records = cases.map(({ stored }, i) => [`${i}`, Buffer.from(stored, 'base64'), '{}', 1, [i, 0]])
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', { msgpack: records })
  t.equal(inserted.status, 200)

  const compare = (route: string, replied: readonly Replied[]) => {
    t.equal(replied.length, cases.length, route)
    for (const { id, meta, meta_base64: bytes } of replied) {
      const { name, stored, meta: expected } = cases[Number(id)] as Case
      t.equal(JSON.stringify(meta), JSON.stringify(expected), `${route}: ${name}`)
      t.equal(bytes, expected === undefined ? stored : undefined, `${route}: bytes of ${name}`)
    }
  }
  const post = async (route: string, json: unknown): Promise<Record<string, never>> => {
    const reply = await running.send('POST', route, { json, accept })
    t.equal(reply.status, 200, route)
    return reply.json() as Record<string, never>
  }
  const k = cases.length
  const vector = [0, 0]
  compare('v1 search', (await post('/api/v1/index/docs/search', { k, vector })).results ?? [])
  const got: Replied[] = []
  for (let i = 0; i < k; i++)
    got.push((await post('/api/v1/index/docs/vector/get', { id: `${i}` })) as unknown as Replied)
  compare('v1 get', got)
  const { fields } = (await running.send('GET', '/api/v2/collection/docs')).json() as { fields: { name: string }[] }
  const name = fields[0]?.name as string
  const ids = cases.map((_, i) => `${i}`)
  compare('v2 get', (await post('/api/v2/collection/docs/objects/query', { ids })).objects ?? [])
  compare('v2 scroll', (await post('/api/v2/collection/docs/objects/scroll', { limit: k })).objects ?? [])
  const search = { fields: { [name]: { query: vector, limit: k } } }
  const { results } = await post('/api/v2/collection/docs/search', search)
  compare('v2 search', (results as unknown as Record<string, Replied[]>)[name] ?? [])

  const packed = await running.send('POST', '/api/v1/index/docs/search', { json: { k, vector } })
  for (const [, id, meta] of packed.msgpack() as [number, string, Uint8Array][])
    t.equal(Buffer.from(meta).toString('base64'), cases[Number(id)]?.stored, `MessagePack: ${cases[Number(id)]?.name}`)
})
