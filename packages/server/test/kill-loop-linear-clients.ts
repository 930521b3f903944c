// Clients that write and read a few keys over HTTP and note each operation with the moments of its call and its reply.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@annal/wal/testing'
import type { Operation } from './kill-loop-register.ts'
import { send } from './running-app.ts'

const keys = 50

/** The operations of a run, and the address of the server. */
export interface Scene {
  readonly random: Random
  readonly operations: Map<string, Operation[]>
  readonly faults: string[]
  url: Promise<string>
  over: boolean
}

export async function create(url: string, name: string): Promise<void> {
  const params = { dimension: 2, space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 }
  const json = { name, fields: [{ name: 'v', type: 'vector', params }] }
  const answer = await send(url, 'POST', '/api/v2/collection', { json })
  if (answer.status !== 200) throw new Error(answer.text)
}

/** A reply, with its LSN if it has one. */
export interface Reply {
  readonly lsn?: number
}

export type Act = (scene: Scene, url: string, value: string) => Promise<Reply | undefined>

/** Runs one operation after another until the run is over. The LSNs that one client receives never decrease. */
export async function runClient(scene: Scene, name: string, act: Act): Promise<void> {
  let lsn = 0
  for (let n = 0; !scene.over; n++) {
    const url = await scene.url
    const reply = await act(scene, url, `${name}.${n}`)
    if (reply === undefined) await sleep(20)
    else if (reply.lsn !== undefined && reply.lsn < lsn)
      scene.faults.push(`${name} received LSN ${reply.lsn} after ${lsn}`)
    else lsn = reply.lsn ?? lsn
  }
}

function keyOf(random: Random): string {
  return `key-${random.below(keys)}`
}

export const writeOne: Act = async (scene, url, value) => {
  const key = keyOf(scene.random)
  const deleting = scene.random.chance(0.2)
  const filter = [{ key: { $eq: key } }]
  const object = { id: key, meta: { value }, filter: { key }, fields: { v: [1, 2] } }
  const calledAt = performance.now()
  const answer = await (deleting
    ? send(url, 'DELETE', '/api/v2/collection/keys/objects', { json: { filter } })
    : send(url, 'POST', '/api/v2/collection/keys/objects', { json: { objects: [object] } })
  ).catch(() => undefined)
  const answeredAt = answer?.status === 200 ? performance.now() : Number.POSITIVE_INFINITY
  // Refused before anything was written.
  if (answer !== undefined && answer.status !== 200) {
    if (answer.status !== 503) scene.faults.push(`a write was answered ${answer.status} ${answer.text}`)
    return undefined
  }
  note(scene, key, { kind: 'write', value: deleting ? undefined : value, calledAt, answeredAt })
  return answer === undefined ? undefined : { lsn: Number(answer.json().lsn) }
}

/** Reads by id or by a filtered search; both must see the same register. */
export const readOne: Act = async (scene, url) => {
  const key = keyOf(scene.random)
  const searching = scene.random.chance(0.5)
  const query = { fields: { v: { query: [1, 2], limit: 1 } }, filter: [{ key: { $eq: key } }] }
  const calledAt = performance.now()
  const answer = await (searching
    ? send(url, 'POST', '/api/v2/collection/keys/search', { json: query, accept: 'application/json' })
    : send(url, 'POST', '/api/v2/collection/keys/objects/query', { json: { ids: [key] }, accept: 'application/json' })
  ).catch(() => undefined)
  if (answer === undefined || answer.status === 503) return undefined
  const answeredAt = performance.now()
  const body = answer.json() as { lsn?: number; results?: { v: Found[] }; objects?: Found[] }
  const found = searching ? body.results?.v : body.objects
  if (answer.status !== 200 || found === undefined) {
    scene.faults.push(`a read was answered ${answer.status} ${answer.text}`)
    return undefined
  }
  note(scene, key, { kind: 'read', value: found[0]?.meta.value, calledAt, answeredAt })
  return body.lsn === undefined ? {} : { lsn: body.lsn }
}

interface Found {
  readonly meta: { readonly value: string }
}

function note(scene: Scene, key: string, operation: Operation): void {
  const operations = scene.operations.get(key)
  if (operations === undefined) scene.operations.set(key, [operation])
  else operations.push(operation)
}
