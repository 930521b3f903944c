// Runs many simulated histories and counts their outcomes. It uses a worker thread, because the test runner watches
// every promise of its own thread, which makes a log on a simulated disk three times as slow.
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { liveThrough, type Outcome, startLast, twinOf } from './history.ts'
import { historyPlan, unharmed } from './history-plans.ts'

export interface Tally {
  readonly histories: number
  readonly whole: number
  readonly refused: number
  /** Acknowledged records that were lost silently: only from the newest sync, or also from before it. */
  readonly lostNewest: number
  readonly lostStamped: number
  readonly phantom: number
  readonly broken: number
  /** The first few unexpected outcomes, with the seed that repeats them. */
  readonly examples: readonly { readonly seed: number; readonly outcome: Outcome }[]
}

interface Order {
  readonly plan: string
  readonly count: number
  readonly seed: number
}

/** Keyed by the name of the damage done before the last start. */
export type Tallies = Readonly<Record<string, Tally>>

const examplesMax = 5
const nothing: Tally = {
  histories: 0,
  whole: 0,
  refused: 0,
  lostNewest: 0,
  lostStamped: 0,
  phantom: 0,
  broken: 0,
  examples: [],
}

/**
 * Runs `count` histories with seeds from `seed` on, over as many threads as help. Stops early after unexpected
 * outcomes.
 */
export async function runHistories(plan: string, count: number, seed: number): Promise<Tally> {
  return (await runHarmed(plan, count, seed))[unharmed] ?? nothing
}

/** The same for a plan with damage: `count` histories for each kind. */
export async function runHarmed(plan: string, count: number, seed: number): Promise<Tallies> {
  const threads = Math.min(availableParallelism(), 4, count)
  const orders: Order[] = []
  for (let from = 0, left = threads; left > 0; left--) {
    const share = Math.ceil((count - from) / left)
    orders.push({ plan, count: share, seed: seed + from })
    from += share
  }
  const shares = await Promise.all(orders.map(runInThread))
  return Object.fromEntries(
    Object.keys(historyPlan(plan).harms).map((harm) => [
      harm,
      shares.map((share) => share[harm] ?? nothing).reduce(sum),
    ]),
  )
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
    examples: [...a.examples, ...b.examples].slice(0, examplesMax),
  }
}

function runInThread(order: Order): Promise<Tallies> {
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

async function runHere({ plan, count, seed }: Order): Promise<Tallies> {
  const { options, harms, isExpected } = historyPlan(plan)
  const tallies: Record<string, Tally> = {}
  const note = (harm: string, outcome: Outcome, example: Tally['examples'][number] | undefined): boolean => {
    const tally = tallies[harm] ?? nothing
    const lost = outcome.kind === 'lost' && (outcome.found < outcome.stamped ? 'lostStamped' : 'lostNewest')
    const key = lost || (outcome.kind as Exclude<Outcome['kind'], 'lost'>)
    const examples = example === undefined ? tally.examples : [...tally.examples, example]
    tallies[harm] = { ...tally, histories: tally.histories + 1, [key]: tally[key] + 1, examples }
    return examples.length < examplesMax
  }
  for (let i = 0, goesOn = true; i < count && goesOn; i++) {
    const lived = await liveThrough({ ...options(i), seed: seed + i })
    for (const [harm, act] of Object.entries(harms)) {
      const own = harm === unharmed ? lived : twinOf(lived)
      if (own.ended === undefined) act(own)
      const outcome = await startLast(own)
      goesOn = note(harm, outcome, isExpected(outcome) ? undefined : { seed: seed + i, outcome }) && goesOn
    }
  }
  return tallies
}

if (!isMainThread) parentPort?.postMessage(await runHere(workerData))
