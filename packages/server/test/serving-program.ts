// A serving thread with hot routes of its own, for tests of the life of threads: `POST /hot/ACTION` is answered by the thread.
import { setTimeout as wait } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import type { Admission, HotReply, HotRoute } from '../src/hot/contract.ts'
import { runServingThread } from '../src/serving/run-thread.ts'

const { thread } = workerData as { readonly thread: number }
// Threads that start while the variable has this value exit at once.
if (process.env.ANNAL_TEST_THREADS === 'exit') process.exit(1)
let held = 0

function reply(body: Buffer): HotReply {
  const facts = { thread, held, body: body.toString('latin1').slice(0, 20), bytes: body.length }
  return { status: 200, contentType: 'application/json', body: Buffer.from(JSON.stringify(facts)) }
}

function act(action: string, body: Buffer): HotReply | undefined | Promise<HotReply | undefined> {
  if (action === 'forward') return undefined
  if (action === 'throw') throw new Error('thrown by a hot route')
  if (action === 'exit') return process.exit(1)
  if (action === 'later') return wait(5).then(() => reply(body))
  if (action === 'later-forward') return wait(5).then(() => undefined)
  if (action === 'loop') for (;;);
  if (action === 'sleep') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(body.toString()))
  if (action === 'large') return { status: 200, contentType: 'text/plain', body: Buffer.alloc(100_000) }
  return reply(body)
}

function admit(route: HotRoute): Admission {
  held++
  let isHeld = true
  const release = (): void => {
    if (isHeld) held--
    isHeld = false
  }
  return {
    ...{ route, database: 'default', databaseType: 'enterprise', replyHeaders: [['vary', 'origin']], headerLines: '' },
    isValid: () => true,
    reply(send) {
      if (route.collection === 'revoked') return false
      send()
      return true
    },
    ...{ release, withdraw: release },
  }
}

runServingThread(async () => ({
  gate: { admit: (_head, route) => admit(route), connected: () => () => undefined },
  routes: {
    match(method, url) {
      if (method !== 'POST' || !url.startsWith('/hot/')) return undefined
      return { name: 'v1-search', pattern: '/hot', collection: url.slice(5), bodyBytesMax: 100_000 }
    },
    answer: ({ route }, _headers, body) => act(route.collection, body),
  },
  observer: { started: () => () => undefined, answered: () => undefined, searched: () => undefined },
}))
