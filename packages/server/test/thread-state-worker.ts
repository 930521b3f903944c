// A serving thread without HTTP: runs one job of thread-state.test.ts with the gate, the observer, or the shared numbers.
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { seededRandom } from '@annal/wal/testing'
import { RateBuckets } from '../src/access/rate-buckets.ts'
import { SharedAmounts } from '../src/access/shared-amounts.ts'
import type { HotRoute, RequestHead } from '../src/hot/contract.ts'
import { openThreadState, type ThreadShare } from '../src/serving/shared-state.ts'

/** What a worker does. `words` are shared with the test. */
export type Job =
  | { readonly kind: 'flood'; readonly share: ThreadShare; readonly words: Int32Array; readonly revocations: number }
  | { readonly kind: 'requests'; readonly share: ThreadShare; readonly seed: number; readonly requests: number }
  | { readonly kind: 'hang'; readonly share: ThreadShare; readonly requests: number }
  | {
      readonly kind: 'rates'
      readonly memory: SharedArrayBuffer
      readonly perSecond: number
      readonly words: Int32Array
    }
  | {
      readonly kind: 'amounts'
      readonly memory: SharedArrayBuffer
      readonly thread: number
      readonly seed: number
      readonly max: number
      readonly steps: number
    }

/** Words of the flood: the newest token, whether threads stop, and replies and states of each token. */
export const floodWords = {
  newest: 0,
  stop: 1,
  first: 2,
  tokenLength: 3,
  replies: 0,
  acknowledged: 1,
  late: 2,
} as const
/** Words of the rates: the clock, the phase, threads that have finished it, and tokens taken. */
export const rateWords = { now: 0, phase: 1, finished: 2, taken: 3 } as const

export function tokenNumber(index: number): string {
  return `acme:${String(index).padStart(43, 'x')}`
}

export const searchRoute: HotRoute = {
  name: 'v2-search',
  pattern: '/api/v2/collection/:name/search',
  collection: 'docs',
  bodyBytesMax: 8_388_608,
}

export function searchHead(authorization?: string): RequestHead {
  const headers = {
    host: 'localhost',
    'content-length': '100',
    ...(authorization === undefined ? {} : { authorization }),
  }
  return { method: 'POST', url: '/api/v2/collection/docs/search', address: '127.0.0.1', headers }
}

/** Replies to requests with the newest tokens, and counts the replies after the revocation of a token was acknowledged. */
async function flood({ share, words, revocations }: Extract<Job, { kind: 'flood' }>): Promise<void> {
  const { gate } = await openThreadState(share)
  const heads = Array.from({ length: revocations }, (_, index) => searchHead(tokenNumber(index)))
  const place = (token: number, word: number) => floodWords.first + token * floodWords.tokenLength + word
  for (let turn = 0; Atomics.load(words, floodWords.stop) === 0; turn++) {
    if (turn % 64 === 0) await nextTurn()
    const token = Math.max(0, Atomics.load(words, floodWords.newest) - (turn % 3))
    const admission = gate.admit(heads[token]!, searchRoute)
    if (admission === undefined) continue
    admission.reply(() => {
      Atomics.add(words, place(token, floodWords.replies), 1)
      // A reply takes some time to hand over.
      for (let spin = 0; spin < 200; spin++) Atomics.load(words, floodWords.stop)
      if (Atomics.load(words, place(token, floodWords.acknowledged)) !== 0)
        Atomics.add(words, place(token, floodWords.late), 1)
    })
    admission.release()
  }
}

/** Answers, forwards and drops requests. */
async function requests({ share, seed, requests }: Extract<Job, { kind: 'requests' }>): Promise<object> {
  const random = seededRandom(seed)
  const { gate, observer, finish } = await openThreadState(share)
  const ends = { answered: 0, forwarded: 0, closed: 0 }
  const byStatus: Record<string, number> = {}
  while (ends.answered + ends.forwarded + ends.closed < requests) {
    if (random.chance(0.1)) await nextTurn()
    const head = searchHead()
    const admission = gate.admit(head, searchRoute)
    if (admission === undefined) continue
    const ended = observer.started()
    const end = random.chance(0.8) ? 'answered' : random.chance(0.5) ? 'forwarded' : 'closed'
    ends[end] += 1
    if (end === 'forwarded') admission.withdraw()
    else admission.release()
    ended(end)
    if (end !== 'answered') continue
    const status = random.chance(0.9) ? 200 : 404
    byStatus[status] = (byStatus[status] ?? 0) + 1
    const { database, route } = admission
    observer.answered(head, { route, database, requestId: () => randomUUID(), status, seconds: 0.001 })
    observer.searched(() => ({
      collectionId: 1,
      lsn: 2,
      request: { fields: { dense: { query: new Float32Array(2) } } },
    }))
  }
  finish()
  return { ends, byStatus }
}

/** Admits requests and then does nothing until it is ended. */
async function hang({ share, requests }: Extract<Job, { kind: 'hang' }>): Promise<void> {
  const { gate, observer } = await openThreadState(share)
  for (let admitted = 0; admitted < requests; ) {
    await nextTurn()
    if (gate.admit(searchHead(), searchRoute) === undefined) continue
    observer.started()
    admitted += 1
  }
  const last = gate.admit(searchHead(), searchRoute)
  parentPort!.postMessage('hangs')
  last?.reply(() => {
    for (;;);
  })
}

/** In each phase, takes tokens until there are none. */
function rates({ memory, perSecond, words }: Extract<Job, { kind: 'rates' }>): void {
  const buckets = new RateBuckets(memory, perSecond, () => Atomics.load(words, rateWords.now))
  for (let phase = 1; ; phase++) {
    Atomics.wait(words, rateWords.phase, phase - 1)
    if (Atomics.load(words, rateWords.phase) < 0) return
    for (let place = 0; place < 3; place++) {
      while (buckets.take(place)) {
        // A token that is given back is taken again.
        if (Atomics.load(words, rateWords.taken) % 7 === 0) {
          buckets.giveBack(place)
          if (!buckets.take(place)) continue
        }
        Atomics.add(words, rateWords.taken + place, 1)
      }
    }
    Atomics.add(words, rateWords.finished, 1)
    Atomics.notify(words, rateWords.finished)
  }
}

/** Takes and gives amounts. Throws if more than `max` was taken. */
function amounts({ memory, thread, seed, max, steps }: Extract<Job, { kind: 'amounts' }>): number {
  const random = seededRandom(seed)
  const amount = new SharedAmounts(memory, thread).amount(1)
  const held: number[] = []
  let refused = 0
  for (let step = 0; step < steps; step++) {
    const wanted = 1 + random.below(max / 4)
    if (random.chance(0.6)) {
      if (amount.take(wanted, max)) held.push(wanted)
      else refused += 1
    } else amount.give(held.pop() ?? 0)
    const { taken } = amount
    if (taken > max || taken < 0) throw new Error(`${taken} of ${max} are taken`)
  }
  // What is left in `held` is given back by the owner.
  return refused
}

const job = workerData as Job | undefined
if (parentPort !== null && job !== undefined) {
  const result =
    job.kind === 'flood'
      ? await flood(job)
      : job.kind === 'requests'
        ? await requests(job)
        : job.kind === 'hang'
          ? await hang(job)
          : job.kind === 'rates'
            ? rates(job)
            : amounts(job)
  parentPort.postMessage(result)
}
