// Runs many simulated lives and counts how they ended. In a thread of its own, because the test runner watches every
// promise of its thread, which makes a log on a simulated disk three times as slow.
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type Outcome, runHistory } from './history.ts'
import { historyPlan } from './history-plans.ts'

export interface Tally {
  readonly histories: number
  readonly whole: number
  readonly refused: number
  /** Acknowledged records gone without a word: only from the newest sync, or also from before it. */
  readonly lostNewest: number
  readonly lostStamped: number
  readonly phantom: number
  readonly broken: number
  /** The first few that did not end as they should, with what repeats them. */
  readonly examples: readonly { readonly seed: number; readonly outcome: Outcome }[]
}

interface Order {
  readonly plan: string
  readonly count: number
  readonly seed: number
}

/** Runs `count` histories with seeds from `seed` on, over as many threads as help. */
export async function runHistories(plan: string, count: number, seed: number): Promise<Tally> {
  const threads = Math.min(availableParallelism(), 4, count)
  const orders: Order[] = []
  for (let from = 0, left = threads; left > 0; left--) {
    const share = Math.ceil((count - from) / left)
    orders.push({ plan, count: share, seed: seed + from })
    from += share
  }
  return (await Promise.all(orders.map(runInThread))).reduce(sum)
}

function sum(a: Tally, b: Tally): Tally {
  return {
    histories: a.histories + b.histories,
    whole: a.whole + b.whole,
    refused: a.refused + b.refused,
    lostNewest: a.lostNewest + b.lostNewest,
    lostStamped: a.lostStamped + b.lostStamped,
    phantom: a.phantom + b.phantom,
    broken: a.broken + b.broken,
    examples: [...a.examples, ...b.examples].slice(0, 5),
  }
}

function runInThread(order: Order): Promise<Tally> {
  const worker = new Worker(new URL(import.meta.url), { workerData: order })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => {
      // The sabotage hook ends its thread with this code when a bug cannot be planted.
      if (code === 99) process.exit(99)
      reject(new Error(`the thread ended with code ${code}`))
    })
  })
}

async function runHere({ plan, count, seed }: Order): Promise<Tally> {
  const { options, isExpected } = historyPlan(plan)
  const tally = { histories: 0, whole: 0, refused: 0, lostNewest: 0, lostStamped: 0, phantom: 0, broken: 0 }
  const examples: { seed: number; outcome: Outcome }[] = []
  for (let i = 0; i < count; i++) {
    const outcome = await runHistory({ ...options(i), seed: seed + i })
    tally.histories++
    if (outcome.kind === 'lost') tally[outcome.found < outcome.stamped ? 'lostStamped' : 'lostNewest']++
    else tally[outcome.kind]++
    if (!isExpected(outcome) && examples.length < 5) examples.push({ seed: seed + i, outcome })
  }
  return { ...tally, examples }
}

if (!isMainThread) parentPort?.postMessage(await runHere(workerData))
