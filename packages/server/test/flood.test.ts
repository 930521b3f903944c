// Searches on all serving threads while other clients change everything that they read: objects are replaced, deleted, and given other filters,
// a collection grows, collections are created, deleted, cloned, and restored, graphs are rebuilt and vacuumed, and tokens are revoked. Every
// reply is a state that existed between the start and the end of its search, and no part of it belongs to another state.
import http from 'node:http'
import { chosenSeed } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { choicesFrom } from './differential/choices.ts'
import { History } from './flood/histories.ts'
import { filterOf, type Hit, type ObjectState, objectOf, tornPart, vectorOf } from './flood/objects.ts'
import { layLicense, vendor } from './licenses.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const isLong = process.env.ANNAL_LONG === '1'
const runMs = Number(process.env.ANNAL_RUN_MS ?? (isLong ? 3_600_000 : 6_000))
const threads = process.env.ANNAL_SERVING_THREADS ?? '3'
const rootToken = '5f0e1d2c3b4a59687786958473625140'
const searchers = 8
const objects = 150
const stableObjects = 100
/** The system spreads connections over threads when they open. */
const requestsPerConnection = 40

tap.setTimeout(runMs + 300_000)

interface Reply {
  readonly status: number
  readonly text: string
}

type Send = (method: string, path: string, json?: unknown, token?: string) => Promise<Reply>

/**
 * Repeats requests of which the server has done nothing: it was too busy, or it had closed the idle connection when the request arrived,
 * which happens if this process was stopped for some seconds.
 */
function sender(url: string, agent: http.Agent, ownToken: string): Send {
  const send = senderOnce(url, agent, ownToken)
  return async (...request) => {
    for (;;) {
      const reply = await send(...request)
      if (reply === undefined) continue
      if (reply.status !== 503 || JSON.parse(reply.text).code !== 'overloaded') return reply
    }
  }
}

/** Resolves to undefined if the connection was idle before and closed without a reply. */
function senderOnce(
  url: string,
  agent: http.Agent,
  ownToken: string,
): (...request: Parameters<Send>) => Promise<Reply | undefined> {
  return (method, path, json, token = ownToken) =>
    new Promise((resolve, reject) => {
      const body = json === undefined ? '' : JSON.stringify(json)
      const headers = {
        authorization: token,
        accept: 'application/json',
        ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      }
      const request = http.request(`${url}/api/v2${path}`, { method, headers, agent }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }))
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) resolve(undefined)
        else reject(error)
      })
      request.end(body)
    })
}

function newAgent(): http.Agent {
  return new http.Agent({ keepAlive: true, maxSockets: 1 })
}

const fields = [{ name: 'v', type: 'vector', params: { dimension: 16, space_type: 'l2', precision: 'float32' } }]

/** The state of a collection that is created and deleted: its generation, once it has its objects. */
type CollectionState = 'absent' | 'empty' | number

class Flood {
  readonly objects = Array.from(
    { length: objects },
    () => new History<ObjectState>({ isStored: true, version: 1, change: 0 }),
  )
  readonly passing = new History<CollectionState>('absent')
  readonly copied = new History<'absent' | 'copy'>('absent')
  readonly tokens: { readonly text: string; readonly history: History<'valid' | 'revoked'> }[] = []
  /** The collection that grows: its generation, and how many of its objects are acknowledged. */
  growing = { generation: 1, grown: 0, isComplete: true }
  rebuilding = Promise.resolve()
  isOver = false
  stableReply: string | undefined
  readonly faults: string[] = []
  readonly counts = new Map<string, number>()

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  fault(text: string): void {
    this.faults.push(text)
    this.isOver = true
  }
}

const seed = chosenSeed()

test('no search under changes of everything returns a wrong or mixed state', {
  timeout: runMs + 300_000,
}, async (t) => {
  t.comment(`ANNAL_SEED=${seed}, ${runMs} ms, ${threads} serving threads`)
  const { url, token, stop } = await startEnterprise(t)
  const flood = new Flood()
  const setup = sender(url, newAgent(), token)
  await fill(setup)
  const timer = setTimeout(() => {
    flood.isOver = true
  }, runMs)
  const loops = [
    changeObjects,
    changeFilters,
    growCollection,
    passCollections,
    copyCollections,
    rebuildGraphs,
    revokeTokens,
  ]
  const fresh = new http.Agent({ keepAlive: false })
  const changing = loops.map((loop, i) =>
    guarded(flood, () => loop(flood, sender(url, newAgent(), token), seed + i, sender(url, fresh, token))),
  )
  const searching = Array.from({ length: searchers }, (_, i) =>
    guarded(flood, () => search(flood, url, token, seed + 100 + i)),
  )
  await Promise.all([...changing, ...searching])
  clearTimeout(timer)
  t.comment(JSON.stringify(Object.fromEntries([...flood.counts].sort())))
  t.strictSame(flood.faults, [])
  for (const what of [
    'an object',
    'a filter',
    'the grown end',
    'a passing collection',
    'a copy',
    'a token',
    'the stable one',
  ])
    t.ok((flood.counts.get(what) ?? 0) > 10, `searches for ${what}`)
  t.equal(await stop(), 0, 'the server stops in order')
})

async function startEnterprise(t: Test) {
  const dataDir = await temporaryDirectory(t)
  await layLicense(dataDir)
  const running = startProcess({
    NDD_DATA_DIR: dataDir,
    NDD_ROOT_TOKEN: rootToken,
    NDD_LICENSE_PUBLIC_KEY: vendor.publicKey,
    NDD_NUM_SERVER_THREADS: threads,
    NDD_FSYNC: 'none',
  })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const root = sender(url, newAgent(), rootToken)
  const made = await root('POST', '/admin/dbs', { db_name: 'acme', db_type: 'enterprise' })
  const { db_token: token } = JSON.parse(made.text) as { readonly db_token: string }
  const stop = async (): Promise<number | null> => {
    running.child.kill('SIGTERM')
    const { code } = await running.ended
    if (code !== 0) t.comment(running.stderr())
    return code
  }
  return { url, token, stop }
}

async function fill(send: Send): Promise<void> {
  for (const name of ['stable', 'changing', 'growing']) await expect(send('POST', '/collection', { name, fields }))
  const rows = (count: number) => ({ objects: Array.from({ length: count }, (_, i) => objectOf(i, 1)) })
  await expect(send('POST', '/collection/stable/objects', rows(stableObjects)))
  await expect(send('POST', '/collection/changing/objects', rows(objects)))
}

async function expect(sent: Promise<Reply>, statuses: readonly number[] = [200, 201, 202]): Promise<Reply> {
  const reply = await sent
  if (!statuses.includes(reply.status)) throw new Error(`${reply.status}: ${reply.text}`)
  return reply
}

async function guarded(flood: Flood, loop: () => Promise<void>): Promise<void> {
  try {
    await loop()
  } catch (error) {
    flood.fault((error as Error).stack ?? `${error}`)
  }
}

/** Objects of even numbers are replaced and deleted here; the filters of the others change. */
async function changeObjects(flood: Flood, send: Send, own: number): Promise<void> {
  const choices = choicesFrom(own)
  for (let version = 2; !flood.isOver; version++) {
    const chosen = Array.from({ length: objects / 2 }, (_, i) => 2 * i).filter(() => choices.chance(0.2))
    if (choices.chance(0.25) && chosen[0] !== undefined) {
      const { version: before } = flood.objects[chosen[0]]!.latest
      const acknowledge = flood.objects[chosen[0]]!.change({ isStored: false, version: before, change: 0 })
      await expect(send('DELETE', `/collection/changing/objects/o${chosen[0]}`), [200, 404])
      acknowledge()
    } else if (chosen.length > 0) {
      const acknowledge = chosen.map((i) => flood.objects[i]!.change({ isStored: true, version, change: 0 }))
      await expect(send('POST', '/collection/changing/objects', { objects: chosen.map((i) => objectOf(i, version)) }))
      for (const one of acknowledge) one()
    }
    flood.count('changes of objects')
  }
}

async function changeFilters(flood: Flood, send: Send, own: number): Promise<void> {
  const choices = choicesFrom(own)
  for (let change = 1; !flood.isOver; change++) {
    const chosen = Array.from({ length: objects / 2 }, (_, i) => 2 * i + 1).filter(() => choices.chance(0.1))
    if (chosen.length === 0) continue
    const updates = chosen.map((i) => ({ id: `o${i}`, filter: filterOf(1, change) }))
    const acknowledge = chosen.map((i) => flood.objects[i]!.change({ isStored: true, version: 1, change }))
    await expect(send('POST', '/collection/changing/filters', { updates }))
    for (const one of acknowledge) one()
    flood.count('changes of filters')
  }
}

/** Large enough that the memories of ids and records are replaced by larger ones several times. */
const grownMost = 6_000

/** A collection that grows, and is deleted and created again when it is large. The version of its objects is its generation. */
async function growCollection(flood: Flood, send: Send): Promise<void> {
  const batch = 60
  for (; !flood.isOver; flood.count('batches of new objects')) {
    const { generation, grown } = flood.growing
    if (grown >= grownMost) {
      flood.growing = { generation: generation + 1, grown: 0, isComplete: false }
      await withoutRebuild(flood, async () => {
        await expect(send('DELETE', '/collection/growing'))
        await expect(send('POST', '/collection', { name: 'growing', fields }))
      })
      flood.growing = { generation: generation + 1, grown: 0, isComplete: true }
      flood.count('large collections deleted')
      continue
    }
    await expect(
      send('POST', '/collection/growing/objects', {
        objects: Array.from({ length: batch }, (_, i) => objectOf(grown + i, generation)),
      }),
    )
    flood.growing = { generation, grown: grown + batch, isComplete: true }
  }
}

async function passCollections(flood: Flood, send: Send): Promise<void> {
  for (let generation = 1; !flood.isOver; generation++) {
    const created = flood.passing.change('empty')
    await expect(send('POST', '/collection', { name: 'passing', fields }))
    created()
    const filled = flood.passing.change(generation)
    await expect(
      send('POST', '/collection/passing/objects', {
        objects: Array.from({ length: 20 }, (_, i) => objectOf(i, generation)),
      }),
    )
    filled()
    const deleted = flood.passing.change('absent')
    await expect(send('DELETE', '/collection/passing'))
    deleted()
    flood.count('collections created and deleted')
  }
}

/** Copies of the stable collection, by clones and by backups. */
async function copyCollections(flood: Flood, send: Send): Promise<void> {
  for (let round = 0; !flood.isOver; round++) {
    const copied = flood.copied.change('copy')
    const kind = round % 2 === 0 ? 'clones' : 'restores'
    if (kind === 'clones') await expect(send('POST', '/collection/stable/clone', { target_collection_name: 'copy' }))
    else {
      await expect(send('POST', '/collection/stable/backup', { name: 'saved' }))
      await eventually(send, '/backup/active', { active: false })
      await expect(send('POST', '/backup/saved/restore', { target_collection_name: 'copy' }))
      await expect(send('DELETE', '/backup/saved'))
    }
    copied()
    const deleted = flood.copied.change('absent')
    await expect(send('DELETE', '/collection/copy'))
    deleted()
    flood.count(kind)
  }
}

async function rebuildGraphs(flood: Flood, send: Send): Promise<void> {
  for (let round = 0; !flood.isOver; round++) {
    const name = round % 4 >= 2 ? 'growing' : 'changing'
    const run = async (): Promise<void> => {
      if (round % 2 === 0) await expect(send('POST', `/collection/${name}/vacuum`))
      else {
        await expect(send('POST', `/collection/${name}/rebuild`, { fields: [{ field: 'v', M: 12 + (round % 5) }] }))
        await eventually(send, `/collection/${name}/rebuild/status`, { status: 'completed' })
      }
      flood.count(`${round % 2 === 0 ? 'vacuums' : 'rebuilds'}, ${name}`)
    }
    await (name === 'growing' ? withoutRebuild(flood, run) : run())
  }
}

async function eventually(send: Send, path: string, wanted: Readonly<Record<string, unknown>>): Promise<void> {
  for (;;) {
    const body = JSON.parse((await expect(send('GET', path))).text) as Readonly<Record<string, unknown>>
    if (Object.entries(wanted).every(([key, value]) => body[key] === value)) return
  }
}

async function revokeTokens(flood: Flood, send: Send, _own: number, fresh: Send): Promise<void> {
  const afterwards: Promise<void>[] = []
  for (let number = 0; !flood.isOver; number++) {
    const made = await expect(send('POST', '/tokens', { name: `t${number}` }))
    const { db_token: text } = JSON.parse(made.text) as { readonly db_token: string }
    const history = new History<'valid' | 'revoked'>('valid')
    flood.tokens.push({ text, history })
    if (flood.tokens.length > 4) {
      const { history: oldest } = flood.tokens[0]!
      const revoked = oldest.change('revoked')
      await expect(send('DELETE', `/tokens/t${number - 4}`))
      revoked()
      afterwards.push(searchRevoked(flood, fresh, flood.tokens[0]!.text))
      flood.tokens.shift()
    }
    flood.count('tokens revoked')
  }
  await Promise.all(afterwards)
}

/** On a connection of its own, so on any thread. The reply to a wrong token is late, and after several of them it is 429. */
async function searchRevoked(flood: Flood, send: Send, token: string): Promise<void> {
  const { status } = await send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10), token)
  if (status !== 401 && status !== 429) flood.fault(`a revoked token: ${status}`)
}

async function search(flood: Flood, url: string, token: string, own: number): Promise<void> {
  const choices = choicesFrom(own)
  let agent = newAgent()
  const searches = [
    searchObject,
    searchObject,
    searchFilter,
    searchGrown,
    searchPassing,
    searchCopy,
    searchWithToken,
    searchStable,
  ]
  for (let sent = 1; !flood.isOver; sent++) {
    if (sent % requestsPerConnection === 0) {
      agent.destroy()
      agent = newAgent()
    }
    await choices.one(searches)(flood, sender(url, agent, token), choices.below(objects))
  }
  agent.destroy()
}

/** Every hit is one state of its object that existed during the search. */
async function searchObject(flood: Flood, send: Send, object: number): Promise<void> {
  const query = vectorOf(object, flood.objects[object]!.latest.version)
  const observed = flood.objects.map((history) => history.observe())
  const hits = hitsOf(await expect(send('POST', '/collection/changing/search', searchBody(query, 3))))
  const possible = observed.map((end) => end())
  checkHits(flood, hits, query, possible)
  if (!hits.some(({ id }) => id === `o${object}`) && possible[object]!.every(({ isStored }) => isStored))
    flood.fault(`o${object} is stored and was not found among ${hits.map(({ id }) => id)}`)
  flood.count('an object')
}

/** Every hit matches the filter, as one state that existed during the search. */
async function searchFilter(flood: Flood, send: Send, object: number): Promise<void> {
  const query = vectorOf(object, 1)
  const observed = flood.objects.map((history) => history.observe())
  const parity = object % 2
  const body = { ...searchBody(query, 10), filter: [{ parity: { $eq: parity } }] }
  const hits = hitsOf(await expect(send('POST', '/collection/changing/search', body)))
  const possible = observed.map((end) => end())
  checkHits(flood, hits, query, possible)
  for (const { id, filter } of hits)
    if (filter.parity !== parity) flood.fault(`${id} has parity ${filter.parity} and was found with ${parity}`)
  flood.count('a filter')
}

function checkHits(
  flood: Flood,
  hits: readonly Hit[],
  query: readonly number[],
  possible: readonly (readonly ObjectState[])[],
): void {
  if (new Set(hits.map(({ id }) => id)).size !== hits.length) flood.fault('an object was found twice')
  for (const hit of hits) {
    const torn = tornPart(hit, query)
    if (torn !== undefined) flood.fault(torn)
    const { version, change } = hit.filter
    const states = possible[hit.meta.object]!
    if (!states.some((state) => state.isStored && state.version === version && state.change === change))
      flood.fault(`${hit.id} is of version ${version}, change ${change}; possible were ${JSON.stringify(states)}`)
  }
}

/** Of several functions that were called with the same flood, one at a time runs: a collection that is rebuilt is not deleted. */
async function withoutRebuild(flood: Flood, run: () => Promise<void>): Promise<void> {
  const before = flood.rebuilding
  flood.rebuilding = before.then(run)
  await flood.rebuilding
}

/** What was acknowledged last is found by the next search on any thread, and nothing of a collection that was deleted. */
async function searchGrown(flood: Flood, send: Send, number: number): Promise<void> {
  const { generation, grown, isComplete } = flood.growing
  if (grown === 0 || !isComplete) return
  const object = grown - 1 - (number % Math.min(grown, 60))
  const query = vectorOf(object, generation)
  const reply = await send('POST', '/collection/growing/search', searchBody(query, 1))
  flood.count('the grown end')
  const isSame = flood.growing.generation === generation
  if (reply.status === 404 && !isSame) return
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  if (isSame && hits[0]?.id !== `o${object}`) flood.fault(`the new object o${object} was not found, but ${hits[0]?.id}`)
  for (const hit of hits) {
    const torn = tornPart(hit, query)
    if (torn !== undefined) flood.fault(torn)
    if (hit.meta.version < generation)
      flood.fault(`${hit.id} of generation ${hit.meta.version} after ${generation} began`)
  }
}

async function searchPassing(flood: Flood, send: Send, object: number): Promise<void> {
  const end = flood.passing.observe()
  const query = vectorOf(object % 20, 1)
  const reply = await send('POST', '/collection/passing/search', searchBody(query, 3))
  const possible = end()
  flood.count('a passing collection')
  if (reply.status === 404) {
    if (!possible.includes('absent')) flood.fault(`the collection was not found; possible were ${possible}`)
    return
  }
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  const state: CollectionState = hits[0]?.meta.version ?? 'empty'
  if (!possible.includes(state) || (hits.length > 0 && hits.length < 3))
    flood.fault(`${hits.length} hits of generation ${state}; possible were ${possible}`)
  for (const hit of hits) {
    const torn = tornPart(hit, query)
    if (torn !== undefined) flood.fault(torn)
    if (hit.meta.version !== state) flood.fault(`hits of the generations ${state} and ${hit.meta.version}`)
  }
}

/** A copy replies as the stable collection does. */
async function searchCopy(flood: Flood, send: Send): Promise<void> {
  const end = flood.copied.observe()
  const reply = await send('POST', '/collection/copy/search', searchBody(vectorOf(5, 1), 10))
  const possible = end()
  flood.count('a copy')
  if (reply.status === 404) {
    if (!possible.includes('absent')) flood.fault('the copy was not found')
    return
  }
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  if (!possible.includes('copy')) flood.fault('a copy that is deleted was found')
  checkStable(flood, hits)
}

async function searchStable(flood: Flood, send: Send): Promise<void> {
  const reply = await expect(send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10)))
  checkStable(flood, hitsOf(reply))
  flood.count('the stable one')
}

function checkStable(flood: Flood, hits: readonly Hit[]): void {
  const text = JSON.stringify(hits)
  flood.stableReply ??= text
  if (text !== flood.stableReply)
    flood.fault(`the stable collection replied\n${text}\nand before\n${flood.stableReply}`)
}

async function searchWithToken(flood: Flood, send: Send, number: number): Promise<void> {
  const chosen = flood.tokens[number % Math.max(1, flood.tokens.length)]
  if (chosen === undefined) return
  const end = chosen.history.observe()
  const reply = await send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10), chosen.text)
  const possible = end()
  flood.count('a token')
  if (reply.status === 200) {
    if (!possible.includes('valid')) flood.fault('a revoked token was accepted')
    checkStable(flood, hitsOf(reply))
  } else if (![401, 429].includes(reply.status) || !possible.includes('revoked'))
    flood.fault(`a token: ${reply.status} ${reply.text}`)
}

function searchBody(query: readonly number[], limit: number) {
  return { fields: { v: { query, limit, ef: 512 } } }
}

function hitsOf({ text }: Reply): readonly Hit[] {
  return (JSON.parse(text) as { readonly results: { readonly v: readonly Hit[] } }).results.v
}
