// Serving threads are terminated one after another while clients write and read a few keys: for every key there is an order of the operations,
// each between its call and its reply, that explains all reads on all threads. So an acknowledged write is not lost with a thread, and every
// read that starts later sees it.
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import type { ThreadedServer } from '../src/serving/threaded-server.ts'
import { until } from './eventually.ts'
import { create, readOne, runClient, type Scene, writeOne } from './kill-loop-linear-clients.ts'
import { isLinearizable } from './kill-loop-register.ts'
import { runningApp, send } from './running-app.ts'

const seed = chosenSeed()
const losses = process.env.ANNAL_LONG === '1' ? 500 : 6
const serverThreads = 3
const [writers, readers] = [6, 8]

tap.setTimeout(losses * 10_000 + 120_000)

test(`operations on a key are linearizable while ${losses} threads are lost, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const { url, app } = await runningApp(t, { serverThreads })
  const { threads } = app.server as unknown as ThreadedServer
  const scene: Scene = { random, operations: new Map(), faults: [], url: Promise.resolve(url), over: false }
  await create(url, 'keys')
  const clients = [
    ...Array.from({ length: writers }, (_, i) => runClient(scene, `w${i}`, writeOne)),
    ...Array.from({ length: readers }, (_, i) => runClient(scene, `r${i}`, readOne)),
  ]
  const noted = () => [...scene.operations.values()].reduce((sum, operations) => sum + operations.length, 0)
  for (let loss = 1; loss <= losses; loss++) {
    const before = noted()
    await until(() => noted() > before + 100)
    await sleep(random.below(20))
    threads?.terminate(random.below(serverThreads), 'of the test')
    await until(() => threads?.replaced === loss)
  }
  scene.over = true
  await Promise.all(clients)
  const wrong = [...scene.operations].filter(([, operations]) => !isLinearizable(operations)).map(([key]) => key)
  t.strictSame([...scene.faults, ...wrong], [], `seed ${seed}`)
  const text = (await send(url, 'GET', '/metrics')).text
  const searches = [...text.matchAll(/^annal_thread_searches_total\{thread="\d"\} (\d+)$/gm)].map(([, n]) => Number(n))
  t.ok(searches.length === serverThreads && searches.every((n) => n > 0), `searches by thread: ${searches}`)
  t.equal(threads?.lost, losses)
  t.comment(JSON.stringify({ seed, losses, operations: noted(), searches }))
})
