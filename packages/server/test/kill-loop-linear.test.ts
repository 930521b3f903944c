// Many clients on few keys, while checkpoints are taken and the server is killed and started again: for every key there is an order of the
// operations, each between its call and its reply, that explains all reads.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { isLinearizable, type Operation } from './kill-loop-register.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
const runs = long ? 20 : 3
const runMs = Number(process.env.ANNAL_RUN_MS ?? (long ? 60_000 : 5_000))
const killEveryMs = long ? 10_000 : 2_500
const writers = 8
const readers = 8
const keys = 50
const timeout = runs * runMs * 10 + 120_000

tap.setTimeout(timeout)

/** The operations of a run, and the address of the server. */
interface Scene {
  readonly random: Random
  readonly operations: Map<string, Operation[]>
  readonly faults: string[]
  url: Promise<string>
  over: boolean
}

test('the check distinguishes a register from other histories', async (t) => {
  const write = (value: string, calledAt: number, answeredAt: number): Operation => ({
    kind: 'write',
    value,
    calledAt,
    answeredAt,
  })
  const read = (value: string | undefined, calledAt: number, answeredAt: number): Operation => ({
    kind: 'read',
    value,
    calledAt,
    answeredAt,
  })
  t.ok(isLinearizable([write('a', 1, 4), read(undefined, 2, 3), read('a', 5, 6)]), 'a write takes effect late')
  t.ok(isLinearizable([write('a', 1, 4), read('a', 2, 3), read('a', 5, 6)]), 'or early')
  t.notOk(isLinearizable([write('a', 1, 4), read('a', 2, 3), read(undefined, 5, 6)]), 'seen, then lost')
  t.notOk(isLinearizable([write('a', 1, 2), read(undefined, 3, 4)]), 'acknowledged, then not there')
  t.notOk(isLinearizable([write('a', 1, 2), write('b', 3, 4), read('a', 5, 6)]), 'an old value')
  t.ok(
    isLinearizable([write('a', 1, 2), write('b', 3, Infinity), read('a', 5, 6), read('b', 7, 8)]),
    'unanswered, late',
  )
  t.notOk(isLinearizable([write('a', 1, 2), write('b', 3, Infinity), read('b', 5, 6), read('a', 7, 8)]), 'undone')
  t.ok(isLinearizable([write('a', 1, 5), write('b', 1, 5), read('b', 2, 3), read('a', 4, 6)]), 'two at once')
})

test(`operations on a key are linearizable, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  let total = 0
  let kills = 0
  for (let run = 0; run < runs; run++) {
    const dataDir = path.join(await temporaryDirectory(t), 'data')
    let running: RunningProcess = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => running.child.kill('SIGKILL'))
    const scene: Scene = { random, operations: new Map(), faults: [], url: running.serving, over: false }
    for (const name of ['keys', 'ballast']) await create(await scene.url, name)
    const clients = [
      ...Array.from({ length: writers }, (_, i) => runClient(scene, `${run}-${i}`, writeOne)),
      ...Array.from({ length: readers }, (_, i) => runClient(scene, `${run}-r${i}`, readOne)),
      runClient(scene, 'ballast', writeBallast),
    ]
    const until = performance.now() + runMs
    while (performance.now() < until) {
      await sleep(Math.min(killEveryMs, until - performance.now()))
      running.child.kill('SIGKILL')
      kills++
      await running.ended
      running = startProcess({ NDD_DATA_DIR: dataDir })
      scene.url = running.serving
      await scene.url
    }
    await sleep(300)
    scene.over = true
    await Promise.all(clients)
    running.child.kill('SIGKILL')
    await running.ended
    for (const [key, operations] of scene.operations) {
      total += operations.length
      if (!isLinearizable(operations)) scene.faults.push(`run ${run}: ${key} ${JSON.stringify(operations)}`)
    }
    t.strictSame(scene.faults, [], `run ${run}, seed ${seed}`)
  }
  t.ok(total > runs * 100, `${total} operations, ${kills} kills`)
  t.comment(JSON.stringify({ seed, runs, operations: total, kills }))
})

async function create(url: string, name: string): Promise<void> {
  const params = { dimension: 2, space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 }
  const json = { name, fields: [{ name: 'v', type: 'vector', params }] }
  const answer = await send(url, 'POST', '/api/v2/collection', { json })
  if (answer.status !== 200) throw new Error(answer.text)
}

/** A reply, with its LSN if it has one. */
interface Reply {
  readonly lsn?: number
}

type Act = (scene: Scene, url: string, value: string) => Promise<Reply | undefined>

/** Runs one operation after another until the run is over. The LSNs that one client receives never decrease. */
async function runClient(scene: Scene, name: string, act: Act): Promise<void> {
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

const writeOne: Act = async (scene, url, value) => {
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
const readOne: Act = async (scene, url) => {
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

/** Enough rows that checkpoints are due. */
const writeBallast: Act = async (_, url, value) => {
  const objects = Array.from({ length: 500 }, (__, i) => ({ id: `${i}`, meta: { value }, fields: { v: [i, 1] } }))
  await send(url, 'POST', '/api/v2/collection/ballast/objects', { json: { objects } }).catch(() => undefined)
  await sleep(30)
  return undefined
}

function note(scene: Scene, key: string, operation: Operation): void {
  const operations = scene.operations.get(key)
  if (operations === undefined) scene.operations.set(key, [operation])
  else operations.push(operation)
}
