// Walks the table of docs/reference/vectors.md: every way a vector leaves the system, at every precision and with every metric, and
// what comes out is bit for bit what the table says.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Client, connect, type StoredObject } from '@annal/client'
import { openEmbedded } from '@annal/client/embedded'
import { type Engine, openEngine } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { decode } from '@msgpack/msgpack'
import tap, { type Test, test } from 'tap'
import {
  bitsOf,
  everyField,
  type Given,
  meantVector,
  objectOf,
  precisions,
  someGiven,
  spaceTypes,
} from '../../engine/test/search/as-given.ts'
import { freshDir, serve, start } from './command.ts'
import { exporting, importing } from './importing.ts'
import { mcpAgent } from './mcp-agent.ts'

const seed = chosenSeed()
tap.setTimeout(300_000)

/** Beyond the size at which quantized rows are no longer float32 in memory. */
const count = 520
/** Looked at in every way. */
const ids = Array.from({ length: 24 }, (_, i) => String(i * 21))

type Fidelity = 'given' | 'sent' | 'given, zeros without a sign'

interface Returned {
  readonly id: string
  /** PRECISION_SPACE, or `members` for the vectors of a multi-vector field one after another. */
  readonly field: string
  readonly vector: ArrayLike<number> | undefined
  readonly norm?: number
}

interface World {
  readonly t: Test
  readonly dir: string
  /** By space. */
  readonly given: ReadonlyMap<string, ReadonlyMap<string, Given>>
  readonly engine: Engine
  readonly embedded: Client
  readonly client: Client
  readonly url: string
}

const fieldsOf = (space: string) => precisions.map((precision) => `${precision}_${space}`)
const everyIndex = spaceTypes.flatMap(fieldsOf)
const hitsWanted = 30

/** What stands in the first column of the table, and what it gives. */
const ways: { readonly [way: string]: (world: World) => AsyncIterable<Returned> } = {
  async *'library, read'({ engine }) {
    for (const space of spaceTypes)
      for (const object of await engine.database().collection(space).get(ids)) yield* returnedOf(object)
  },
  async *'library, page'({ engine }) {
    for (const space of spaceTypes)
      for (const object of (await engine.database().collection(space).scroll({ limit: 40 })).objects)
        yield* returnedOf(object)
  },
  async *'library, hits'({ engine, given }) {
    for (const space of spaceTypes) {
      const collection = engine.database().collection(space)
      const requests = queriesOf(space, given)
      for (const result of [await collection.search(requests[0]), ...(await collection.searchBatch(requests))])
        for (const [field, hits] of Object.entries(result.results))
          for (const { id, vector, members } of hits)
            yield { id, field, vector: members ? members.flatMap((one) => [...one.vector]) : vector }
    }
  },
  async *'library, JSON'({ engine }) {
    for (const space of spaceTypes)
      for (const { id, fields } of JSON.parse(JSON.stringify(await engine.database().collection(space).get(ids))))
        for (const [field, value] of Object.entries(fields)) if (field !== 'words') yield plain(id, field, value)
  },
  async *'collection, read, JSON'({ url }) {
    for (const space of spaceTypes) yield* jsonObjects(await post(url, `${space}/objects/query`, { ids }))
  },
  async *'collection, read, MessagePack'({ url }) {
    for (const space of spaceTypes) {
      const [objects] = (await packed(url, `/api/v2/collection/${space}/objects/query`, { ids })) as [unknown[][]]
      for (const [id, , , dense, , multi] of objects)
        for (const [field, vector] of Object.entries({ ...(dense as object), ...(multi as object) }))
          yield plain(id as string, field, vector)
    }
  },
  async *'collection, page'({ url }) {
    for (const space of spaceTypes) yield* jsonObjects(await post(url, `${space}/objects/scroll`, { limit: 40 }))
  },
  async *'collection, hits'({ url, given }) {
    for (const space of spaceTypes) yield* jsonHits(await post(url, `${space}/search`, wireQuery(space, given)))
  },
  async *'collection, batch'({ url, given }) {
    for (const space of spaceTypes) {
      const { searches } = await post(url, `${space}/search/batch`, { searches: [wireQuery(space, given)] })
      for (const reply of searches) yield* jsonHits(reply)
    }
  },
  async *'index, read, JSON'({ url }) {
    for (const field of everyIndex)
      for (const id of ids) yield { ...(await json(url, `/api/v1/index/${field}/vector/get`, { id })), field }
  },
  async *'index, hits, JSON'({ url, given }) {
    for (const field of everyIndex)
      for (const hit of (await json(url, `/api/v1/index/${field}/search`, indexQuery(field, given))).results)
        yield { id: hit.id, field, vector: hit.vector }
  },
  async *'index, read, MessagePack'({ url }) {
    for (const field of everyIndex)
      for (const wanted of ids) {
        const reply = (await packed(url, `/api/v1/index/${field}/vector/get`, { id: wanted })) as unknown[]
        const [id, , , norm, vector] = reply as [string, unknown, unknown, number, number[]]
        yield { id, field, vector, norm }
      }
  },
  async *'index, hits, MessagePack'({ url, given }) {
    for (const field of everyIndex)
      for (const hit of (await packed(url, `/api/v1/index/${field}/search`, indexQuery(field, given))) as unknown[]) {
        const [, id, , , norm, vector] = hit as [number, string, unknown, unknown, number, number[]]
        yield { id, field, vector, norm }
      }
  },
  async *'client, read'({ client }) {
    for (const space of spaceTypes) {
      yield* returnedOf((await client.collection(space).get(ids[1] as string)) as StoredObject)
      for (const object of await client.collection(space).getMany(ids)) yield* returnedOf(object)
    }
  },
  async *'client, page'({ client }) {
    for (const space of spaceTypes)
      for (const object of (await client.collection(space).scroll({ limit: 40 })).objects) yield* returnedOf(object)
  },
  'client, hits': ({ client, given }) => clientHits(client, given),
  'client, index': ({ client, given }) => clientIndexes(client, given),
  async *'client, embedded'({ embedded, given }) {
    for (const space of spaceTypes)
      for (const object of await embedded.collection(space).getMany(ids)) yield* returnedOf(object)
    yield* clientHits(embedded, given)
    yield* clientIndexes(embedded, given)
  },
  'export, JSONL': (world) => exported(world, 'jsonl'),
  'export, CSV': (world) => exported(world, 'csv'),
  'export, Parquet': (world) => exported(world, 'parquet'),
  async *'export, NPY'({ dir, url }) {
    for (const field of everyIndex) {
      const [output, idFile] = [path.join(dir, `${field}.npy`), path.join(dir, `${field}.ids`)]
      await exporting(field.split('_')[1] as string, { server: url, output, ids: idFile, field })
      const bytes = readFileSync(output)
      const start = 10 + bytes.readUInt16LE(8)
      const lines = readFileSync(idFile, 'utf8').trim().split('\n')
      const dimension = (bytes.length - start) / 4 / lines.length
      const floats = new Float32Array(Uint8Array.from(bytes.subarray(start)).buffer)
      for (const [row, id] of lines.entries())
        yield { id, field, vector: floats.subarray(row * dimension, (row + 1) * dimension) }
    }
  },
  async *MCP({ t, url, given }) {
    const agent = await mcpAgent(t, start(['mcp', '--server', url]))
    for (const space of spaceTypes) {
      const lines = async (tool: string, input: object) =>
        (await agent.tool(tool, { collection: space, ...input })).text.split('\n').map((line) => JSON.parse(line))
      yield* jsonObjects({ objects: await lines('get_objects', { ids }) })
      yield* jsonObjects({ objects: (await lines('list_objects', { limit: 20 })).slice(0, -1) })
      const [found] = await lines('search', { ...mcpQuery(space, given), include_vectors: true })
      yield* jsonHits(found)
    }
    await agent.close()
  },
}

test('the table has every way that is walked here, and no other', (t) => {
  t.strictSame(Object.keys(tableOf()).sort(), Object.keys(ways).sort())
  t.end()
})

test('every way gives what the table says', async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const dir = freshDir(t)
  const dataDir = path.join(dir, 'data')
  const given = new Map(
    spaceTypes.map((space) => [space, new Map(someGiven(random, space, count).map((one) => [one.id, one]))]),
  )
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  await fill(engine, given)
  const check = async (pattern: RegExp, world: Partial<World>) => {
    for (const [way, fidelity] of Object.entries(tableOf()).filter(([name]) => pattern.test(name))) {
      const { seen, faults } = await walked(ways[way]?.({ t, dir, given, ...world } as World), given, fidelity)
      t.strictSame(faults.slice(0, 3), [], `${way}: ${fidelity}`)
      t.ok(seen >= ids.length * 5, `${seen} vectors`)
    }
  }
  await check(/^library/, { engine })
  await engine.close()
  await using embedded = await openEmbedded({ dataDir })
  await check(/embedded/, { embedded })
  await embedded.close()
  const { address: url } = await serve(t, dataDir)
  await using client = connect({ url })
  await check(/^(?!library)(?!.*embedded)/, { client, url })
})

async function fill(engine: Engine, given: World['given']): Promise<void> {
  for (const [space, all] of given) {
    const objects = [...all.values()].map(objectOf)
    const fields = everyField(space)
    const collection = await engine.database().createCollection({ name: space, fields })
    await collection.upsert(objects)
    for (const field of fields.filter(({ type }) => type === 'vector')) {
      const index = await engine.database().createCollection({ name: field.name, fields: [field] })
      await index.upsert(
        objects.map(({ id, fields }) => ({ id, fields: { [field.name]: fields[field.name] as number[] } })),
      )
    }
  }
}

/** Ways and their fidelities, as the table has them. */
function tableOf(): { readonly [way: string]: Fidelity } {
  const page = readFileSync(new URL('../../../docs/reference/vectors.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| ([^|]+) \| [^|]+ \| (given|sent|given, zeros without a sign) \|$/gm)
  return Object.fromEntries(Array.from(rows, ([, way, fidelity]) => [way as string, fidelity as Fidelity]))
}

async function walked(found: AsyncIterable<Returned> | undefined, given: World['given'], fidelity: Fidelity) {
  const faults: string[] = []
  let seen = 0
  for await (const { id, field, vector, norm } of found ?? []) {
    seen += 1
    const spaces = field === 'members' ? spaceTypes : [field.split('_')[1] as string]
    const isRight = spaces.some((space) => {
      const one = given.get(space)?.get(id) as Given
      const compared = fidelity === 'given, zeros without a sign' ? unsigned : bitsOf
      if (field === 'members') return compared(vector) === compared(one.members.flatMap((member) => [...member]))
      const value = one.dense[field] as Given['dense'][string]
      if (fidelity !== 'sent') return compared(vector) === compared(meantVector(space, value))
      if (value.norm !== undefined) return bitsOf(vector) === bitsOf(value.sent) && norm === value.norm
      return isDirection(space, value.sent, vector, norm)
    })
    if (!isRight) faults.push(`${field} of ${id}: ${vector && Array.from(vector)}, norm ${norm}`)
  }
  return { seen, faults }
}

function unsigned(vector: ArrayLike<number> | undefined): string {
  return bitsOf(vector && Array.from(vector, (x) => x + 0))
}

/** A vector that came without a norm: of unit length with its length in a cosine field, and as it came in others. */
function isDirection(space: string, sent: Float32Array, vector: ArrayLike<number> | undefined, norm = 0): boolean {
  if (space !== 'cosine') return bitsOf(vector) === bitsOf(sent)
  const length = Math.hypot(...sent)
  const found = Array.from(vector ?? [])
  const isUnit = length === 0 || Math.abs(Math.hypot(...found) - 1) <= 2e-6
  return isUnit && Math.abs(norm - length) <= 2e-6 * length + 1e-44
}

function* returnedOf(
  object: Pick<StoredObject, 'id' | 'dense'> & {
    readonly multi: { readonly [name: string]: readonly { readonly vector: Float32Array }[] }
  },
): Generator<Returned> {
  const { id, dense, multi } = object
  for (const [field, { vector, norm }] of Object.entries(dense)) yield { id, field, vector, norm }
  for (const [field, members] of Object.entries(multi))
    yield { id, field, vector: members.flatMap(({ vector }) => [...vector]) }
}

/** A vector as JSON has it: numbers, `{vector}`, several, or `{vectors}`. */
function plain(id: string, field: string, value: unknown): Returned {
  const { vector, vectors } = value as { vector?: number[]; vectors?: number[][] }
  return { id, field, vector: vector ?? vectors?.flat() ?? (value as number[][]).flat() }
}

// biome-ignore lint/suspicious/noExplicitAny: replies are compared part by part
function* jsonObjects({ objects }: any): Generator<Returned> {
  for (const { id, fields } of objects)
    for (const [field, value] of Object.entries(fields)) if (field !== 'words') yield plain(id, field, value)
}

// biome-ignore lint/suspicious/noExplicitAny: replies are compared part by part
function* jsonHits({ results }: any): Generator<Returned> {
  for (const [field, hits] of Object.entries(results))
    for (const hit of hits as { id: string; vector?: number[]; vectors?: number[][] }[]) yield plain(hit.id, field, hit)
}

/** One query for every field that has vectors of its own. */
function vectorQueries(space: string, given: World['given']): [string, number[] | number[][]][] {
  const some = given.get(space)?.get('100') as Given
  return [
    ...fieldsOf(space).map((field): [string, number[]] => [field, Array.from(some.dense[field]?.sent ?? [])]),
    ['members', some.members.map((member) => Array.from(member))],
  ]
}

function queriesOf(space: string, given: World['given']) {
  const fields = vectorQueries(space, given).map(([field, query]) => [field, { query, limit: hitsWanted }] as const)
  const request = { fields: Object.fromEntries(fields), includeVectors: true }
  return [request, { ...request, exact: true }, { ...request, rescore: true }] as const
}

function wireQuery(space: string, given: World['given']) {
  return { ...mcpQuery(space, given), include_vectors: true }
}

function mcpQuery(space: string, given: World['given']) {
  const fields = vectorQueries(space, given).map(([field, query]) => [field, { query, limit: hitsWanted }] as const)
  return { fields: Object.fromEntries(fields) }
}

function indexQuery(field: string, given: World['given']) {
  const vector = given.get(field.split('_')[1] as string)?.get('100')?.dense[field]?.sent ?? []
  return { vector: Array.from(vector), k: hitsWanted, include_vectors: true }
}

async function* clientHits(client: Client, given: World['given']): AsyncGenerator<Returned> {
  for (const space of spaceTypes)
    for (const request of queriesOf(space, given)) {
      const { results } = await client.collection(space).search(request)
      for (const [field, hits] of Object.entries(results))
        for (const { id, vector, vectors } of hits)
          yield { id, field, vector: vectors ? vectors.flatMap((one) => [...one]) : vector }
    }
}

async function* clientIndexes(client: Client, given: World['given']): AsyncGenerator<Returned> {
  for (const field of everyIndex) {
    const index = client.index(field)
    for (const id of ids.slice(0, 6)) yield { id, field, vector: (await index.get(id))?.vector }
    const { vector } = indexQuery(field, given)
    for (const hit of await index.query({ vector, topK: hitsWanted, includeVectors: true }))
      yield { id: hit.id, field, vector: hit.vector }
  }
}

/** The file, imported into another collection, and what that one has. What is exported of it is the same file. */
async function* exported({ dir, url, client, t }: World, format: string): AsyncGenerator<Returned> {
  for (const space of spaceTypes) {
    const [first, second] = ['first', 'second'].map((name) => path.join(dir, `${space}-${name}.${format}`))
    const target = `${space}_${format}`
    const copy = await client.createCollection({
      name: target,
      fields: everyField(space) as Parameters<Client['createCollection']>[0]['fields'],
    })
    await exporting(space, { server: url, output: first as string })
    await importing(target, first as string, { server: url })
    for (const object of await copy.getMany(ids)) yield* returnedOf(object)
    await exporting(target, { server: url, output: second as string })
    t.ok(readFileSync(first as string).equals(readFileSync(second as string)), `${format} of ${space} again`)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: replies are compared part by part
async function json(url: string, route: string, body: object): Promise<any> {
  return (await posted(url, route, body, 'application/json')).json()
}

function post(url: string, route: string, body: object) {
  return json(url, `/api/v2/collection/${route}`, body)
}

async function packed(url: string, route: string, body: object): Promise<unknown> {
  return decode(await (await posted(url, route, body, 'application/msgpack')).arrayBuffer())
}

async function posted(url: string, route: string, body: object, accept: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept }
  const reply = await fetch(`${url}${route}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${route}: ${reply.status} ${await reply.text()}`)
  return reply
}
