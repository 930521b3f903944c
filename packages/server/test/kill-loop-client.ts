// A client with a memory: it runs one operation after another on a server that may die, and knows which states the server may have
// afterwards. It lives in the test process, so a kill of the server does not affect it.
import type { Random } from '@annal/wal/testing'
import { until } from './eventually.ts'
import { type Answer, send } from './running-app.ts'

/** What is stored under an id. Every upsert and every replaced filter has a unique number. */
export interface Held {
  readonly version: number
  readonly filterVersion: number
  readonly tag: string
}

export type Objects = ReadonlyMap<string, Held>

export interface State {
  readonly docs: Objects
  /** The collection that is created, deleted, and created again under one name; undefined while it does not exist. */
  readonly own: Objects | undefined
}

export interface Client {
  readonly name: string
  acknowledged: State
  /** The state if the running operation was stored. */
  pending: State | undefined
}

export interface Operation {
  readonly label: string
  readonly after: State
  run(url: string): Promise<Answer>
}

const idsPerClient = 120
const bulkIds = 800
const tags = ['red', 'green', 'blue', 'gray']
let versions = 0

export const docsDefinition = { name: 'docs', fields: [dense()] }

export function newClient(name: string): Client {
  return { name, acknowledged: { docs: new Map(), own: undefined }, pending: undefined }
}

export function idsOf(client: Client): string[] {
  return [
    ...Array.from({ length: idsPerClient }, (_, i) => `${client.name}-${i}`),
    ...Array.from({ length: bulkIds }, (_, i) => `${client.name}-bulk-${i}`),
  ]
}

export function ownName(client: Client): string {
  return `own-${client.name}`
}

/** Operations that were acknowledged so far. */
export interface Load {
  acknowledged: number
}

/** Resolves when the count has grown by two, however slow the machine is, or when the clients have ended. */
export async function grown(count: () => number, clients: Promise<unknown>): Promise<void> {
  const wanted = count() + 2
  let ended = false
  const end = () => {
    ended = true
  }
  clients.then(end, end)
  await until(() => ended || count() >= wanted)
}

/** Runs operations until the server is gone; adds wrong replies to `faults`, and acknowledged operations to `load`. */
export async function runClient(
  client: Client,
  url: string,
  options: {
    readonly random: Random
    readonly bulk: boolean
    readonly faults: string[]
    readonly load: Load
    /** True from the moment on in which replies prove nothing. */
    readonly uncertain?: () => boolean
  },
): Promise<void> {
  for (;;) {
    const operation = options.bulk && options.random.chance(0.8) ? bulk(client) : someOperation(client, options.random)
    client.pending = operation.after
    const answer = await operation.run(url).catch(() => undefined)
    // No reply, a partial one, or one that proves nothing: the operation may or may not be stored.
    if (answer === undefined || options.uncertain?.()) return
    client.pending = undefined
    if (answer.status === 503) return
    if (answer.status !== 200) {
      options.faults.push(`${client.name}: ${operation.label} was answered ${answer.status} ${answer.text}`)
      return
    }
    client.acknowledged = operation.after
    options.load.acknowledged++
  }
}

function someOperation(client: Client, random: Random): Operation {
  const kind = random.below(10)
  if (kind < 4) return upsert(client, 'docs', someIds(client, random, 40), random)
  if (kind === 4) return deleteOne(client, random)
  if (kind === 5) return deleteByTag(client, random)
  if (kind === 6) return updateFilters(client, random)
  if (client.acknowledged.own === undefined) return createOwn(client)
  if (kind === 9 && random.chance(0.7)) return dropOwn(client)
  return upsert(client, 'own', someIds(client, random, 20), random)
}

function someIds(client: Client, random: Random, most: number): string[] {
  const first = random.below(idsPerClient - most)
  return Array.from({ length: 1 + random.below(most) }, (_, i) => `${client.name}-${first + i}`)
}

function bulk(client: Client): Operation {
  const ids = Array.from({ length: bulkIds }, (_, i) => `${client.name}-bulk-${i}`)
  return upsert(client, 'docs', ids)
}

function upsert(client: Client, where: 'docs' | 'own', ids: readonly string[], random?: Random): Operation {
  const version = ++versions
  const tag = random === undefined ? 'bulk' : (tags[random.below(tags.length)] as string)
  const after = new Map(client.acknowledged[where])
  for (const id of ids) after.set(id, { version, filterVersion: version, tag })
  const objects = ids.map((id) => ({
    id,
    meta: { id, version },
    filter: { id, tag: `${client.name}-${tag}`, version },
    fields: { v: vectorOf(version, id) },
  }))
  const name = where === 'docs' ? 'docs' : ownName(client)
  return {
    label: `upsert of ${ids.length} into ${name}`,
    after: { ...client.acknowledged, [where]: after },
    run: (url) => send(url, 'POST', `/api/v2/collection/${name}/objects`, { json: { objects } }),
  }
}

/** Deletes an existing id if there is one; deleting an absent one is refused and changes nothing. */
function deleteOne(client: Client, random: Random): Operation {
  const there = [...client.acknowledged.docs.keys()]
  const id = there[random.below(there.length)]
  if (id === undefined) return upsert(client, 'docs', someIds(client, random, 40), random)
  const after = new Map(client.acknowledged.docs)
  after.delete(id)
  return {
    label: `delete of ${id}`,
    after: { ...client.acknowledged, docs: after },
    run: (url) => send(url, 'DELETE', `/api/v2/collection/docs/objects/${id}`),
  }
}

function deleteByTag(client: Client, random: Random): Operation {
  const tag = tags[random.below(tags.length)] as string
  const after = new Map([...client.acknowledged.docs].filter(([, held]) => held.tag !== tag))
  const json = { filter: [{ tag: { $eq: `${client.name}-${tag}` } }] }
  return {
    label: `delete by tag ${tag}`,
    after: { ...client.acknowledged, docs: after },
    run: (url) => send(url, 'DELETE', '/api/v2/collection/docs/objects', { json }),
  }
}

function updateFilters(client: Client, random: Random): Operation {
  const filterVersion = ++versions
  const tag = tags[random.below(tags.length)] as string
  const after = new Map(client.acknowledged.docs)
  const ids = someIds(client, random, 30)
  for (const id of ids) {
    const held = after.get(id)
    if (held !== undefined) after.set(id, { ...held, filterVersion, tag })
  }
  const filter = (id: string) => ({ id, tag: `${client.name}-${tag}`, version: filterVersion })
  const json = { updates: ids.map((id) => ({ id, filter: filter(id) })) }
  return {
    label: `filters of ${ids.length}`,
    after: { ...client.acknowledged, docs: after },
    run: (url) => send(url, 'POST', '/api/v2/collection/docs/filters', { json }),
  }
}

function createOwn(client: Client): Operation {
  const json = { name: ownName(client), fields: [dense()] }
  return {
    label: `create ${ownName(client)}`,
    after: { ...client.acknowledged, own: new Map() },
    run: (url) => send(url, 'POST', '/api/v2/collection', { json }),
  }
}

function dropOwn(client: Client): Operation {
  return {
    label: `drop ${ownName(client)}`,
    after: { ...client.acknowledged, own: undefined },
    run: (url) => send(url, 'DELETE', `/api/v2/collection/${ownName(client)}`),
  }
}

function dense() {
  const params = { dimension: 4, space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 }
  return { name: 'v', type: 'vector', params }
}

/** Both numbers can be read from the vector, so a vector of one version with the meta of another is detected. */
export function vectorOf(version: number, id: string): number[] {
  return [version, Number(/\d+$/.exec(id)?.[0]), 1, 0]
}
