// Many clients on few keys, while checkpoints are taken and the server is killed and started again: for every key there is an order of the
// operations, each between its call and its reply, that explains all reads.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { until } from './eventually.ts'
import { type Act, create, readOne, runClient, type Scene, writeOne } from './kill-loop-linear-clients.ts'
import { isLinearizable, type Operation } from './kill-loop-register.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
const runs = long ? 20 : 3
const runMs = Number(process.env.ANNAL_RUN_MS ?? (long ? 60_000 : 3_000))
const killEveryMs = long ? 10_000 : 2_500
/** What a life of the server is given besides time, because a busy machine may do nothing in that. */
const operationsMin = 110
const writers = 8
const readers = 8
/** Each client has a connection to any of them, and another one when it was closed. */
const serverThreads = process.env.ANNAL_SERVER_THREADS ?? '3'
const timeout = runs * runMs * 10 + 120_000

tap.setTimeout(timeout)

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
    let running: RunningProcess = startProcess({ NDD_DATA_DIR: dataDir, NDD_NUM_SERVER_THREADS: serverThreads })
    t.teardown(() => running.child.kill('SIGKILL'))
    const scene: Scene = { random, operations: new Map(), faults: [], url: running.serving, over: false }
    for (const name of ['keys', 'ballast']) await create(await scene.url, name)
    const clients = [
      ...Array.from({ length: writers }, (_, i) => runClient(scene, `${run}-${i}`, writeOne)),
      ...Array.from({ length: readers }, (_, i) => runClient(scene, `${run}-r${i}`, readOne)),
      runClient(scene, 'ballast', writeBallast),
    ]
    const endMs = performance.now() + runMs
    while (performance.now() < endMs) {
      await sleep(Math.min(killEveryMs, endMs - performance.now()))
      await more(scene, operationsMin)
      running.child.kill('SIGKILL')
      kills++
      await running.ended
      running = startProcess({ NDD_DATA_DIR: dataDir, NDD_NUM_SERVER_THREADS: serverThreads })
      scene.url = running.serving
      await scene.url
    }
    await sleep(300)
    await more(scene, 1)
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
  t.comment(JSON.stringify({ seed, serverThreads, runs, operations: total, kills }))
})

/** Waits until clients have noted so many further operations. */
async function more({ operations }: Scene, count: number): Promise<void> {
  const noted = () => [...operations.values()].reduce((sum, { length }) => sum + length, 0)
  const wanted = noted() + count
  await until(() => noted() >= wanted)
}

/** Enough rows that checkpoints are due. */
const writeBallast: Act = async (_, url, value) => {
  const objects = Array.from({ length: 500 }, (__, i) => ({ id: `${i}`, meta: { value }, fields: { v: [i, 1] } }))
  await send(url, 'POST', '/api/v2/collection/ballast/objects', { json: { objects } }).catch(() => undefined)
  await sleep(30)
  return undefined
}
