// Stored meta, however it was packed, is the same object or the same bytes over HTTP and on an embedded engine.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { deflateSync } from 'node:zlib'
import { type Test, test } from 'tap'
import { openEmbedded } from '../src/embedded/index.ts'
import { type Client, connect, denseField } from '../src/index.ts'
import { MetaReader } from '../src/packed-meta.ts'
import { realServer } from './real-server.ts'

interface Case {
  readonly name: string
  readonly stored: string
  readonly meta?: Record<string, unknown>
}

const golden = new URL('../../engine/test/golden/packed-meta.json', import.meta.url)
const cases: readonly Case[] = JSON.parse(readFileSync(golden, 'utf8'))
const bytesOf = ({ stored }: Case) => Uint8Array.from(Buffer.from(stored, 'base64'))

test('a reply beyond the limit of the server is read as the server reads it', async (t) => {
  for (const one of cases) {
    const bytes = bytesOf(one)
    // The server reads these itself, whatever the limit.
    if (bytes.length === 0 || bytes[0] === 0x7b) continue
    const read = new MetaReader().fromBytes(bytes, 'reply')
    t.equal(JSON.stringify(read), JSON.stringify(one.meta ?? bytes), one.name)
  }
})

/** The meta of all objects in one reply of each kind. */
async function metasOf(client: Client): Promise<string[]> {
  const collection = await client.createCollection({
    name: 'packed',
    fields: [denseField('place', { dimension: 2, spaceType: 'l2', precision: 'float32' })],
  })
  const index = client.index('packed')
  await collection.upsert(cases.map((one, i) => ({ id: `${i}`, meta: bytesOf(one), fields: { place: [i, 0] } })))
  const ids = cases.map((_, i) => `${i}`)
  const many = await collection.getMany(ids)
  const { results } = await collection.search({ fields: { place: { query: [0, 0], limit: ids.length } } })
  const { objects: scrolled } = await collection.scroll({ limit: ids.length })
  const hits = await index.query({ vector: [0, 0], topK: ids.length })
  const one = await Promise.all(ids.map((id) => index.get(id)))
  return [many, results.place ?? [], scrolled, hits, one].map((objects) =>
    JSON.stringify(objects.map((object) => object?.meta ?? (object as { metaBytes?: Uint8Array }).metaBytes)),
  )
}

/** Meta that inflates beyond the limit of one reply of a server, but not of the client. */
async function largeMetas(client: Client): Promise<string[]> {
  const large = await client.createCollection({
    name: 'large',
    fields: [denseField('place', { dimension: 2, spaceType: 'l2', precision: 'float32' })],
  })
  const words = Array.from({ length: 9_000 }, (_, i) => ((i * 0x9e3779b1) >>> 0).toString(36)).join(' ')
  const meta = Uint8Array.from(deflateSync(JSON.stringify({ words: words + 'x'.repeat(1_000_000 - words.length) })))
  await large.upsert(Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, meta, fields: { place: [i, 0] } })))
  const { results } = await large.search({ fields: { place: { query: [0, 0], limit: 40 } } })
  return (results.place ?? []).map(({ meta: read }) => (read === undefined ? 'bytes' : 'object'))
}

async function bothHomes(t: Test): Promise<readonly [Client, Client]> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  const embedded = await openEmbedded({ dataDir, threads: 1 })
  t.teardown(async () => {
    await embedded.close()
    rmSync(dataDir, { recursive: true })
  })
  return [connect({ url: await realServer(t) }), embedded]
}

test('both homes return the same meta', async (t) => {
  const [remote, embedded] = await bothHomes(t)
  const [overHttp, inProcess] = [await metasOf(remote), await metasOf(embedded)]
  t.strictSame(overHttp, inProcess)
  const isEmpty = ({ meta }: Case) => meta !== undefined && Object.keys(meta).length === 0
  const expected = JSON.stringify(cases.map((one) => (isEmpty(one) ? undefined : (one.meta ?? bytesOf(one)))))
  for (const metas of overHttp) t.equal(metas, expected)
  t.strictSame(await largeMetas(remote), Array(40).fill('object'), 'the client inflates what the server does not')
  t.strictSame(await largeMetas(embedded), Array(40).fill('object'))
})
