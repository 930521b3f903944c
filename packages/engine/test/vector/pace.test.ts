// Workers that build graphs pause while the host program says so. What they build does not depend on it.
import { readdirSync, readFileSync } from 'node:fs'
import os from 'node:os'
import { test } from 'tap'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { Pace } from '../../src/vector/threads/pace.ts'
import { ownThread } from '../../src/vector/threads/thread-state.ts'
import { clusteredRows, definitionOf, rowsOf } from './world.ts'

/** A pace whose clock only its work advances. */
function clocked(cores: number): { readonly pace: Pace; readonly pausesAfter: (ms: number) => boolean } {
  let nowMs = 1_000
  const pace = new Pace(cores, () => nowMs)
  return {
    pace,
    pausesAfter(ms) {
      // Between two pieces the worker waits for work.
      nowMs += 50
      pace.begin()
      nowMs += ms
      return pace.end()
    },
  }
}

test('a worker pauses after work of 0.1 ms for each core, and of 1 ms at most', async (t) => {
  for (const [cores, ms] of [
    [1, 0.1],
    [2, 0.2],
    [64, 1],
  ] as const) {
    const { pace, pausesAfter } = clocked(cores)
    t.notOk(pausesAfter(ms * 0.6))
    t.ok(pausesAfter(ms * 0.6), `${cores} cores`)
    t.notOk(pausesAfter(ms * 0.6), 'the work after a pause counts from zero')
    pace.restart()
    t.notOk(pausesAfter(ms * 0.6), 'a sleep is a pause as well')
  }
  t.ok(clocked(64).pausesAfter(7), 'after a long piece')
})

const dimension = 64
const rows = clusteredRows(4_000, dimension, 11)
const nothing = new Uint32Array(0)

/** How often the workers gave up their cores. They have a lower priority than the other threads. */
function sleepsOfWorkers(): number {
  const lowest = Math.min(
    os.constants.priority.PRIORITY_LOW,
    os.getPriority(ownThread()) + os.constants.priority.PRIORITY_BELOW_NORMAL,
  )
  const workers = readdirSync('/proc/self/task').filter((thread) => os.getPriority(Number(thread)) >= lowest)
  const counts = workers.map((thread) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/self/task/${thread}/status`, 'utf8'))?.[1]),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Upserts, replaces half of the rows again and again so that ordinals are reused, and returns the digest of the field. */
async function build(threads: number, pauses: boolean): Promise<{ readonly digest: string; readonly sleeps: number }> {
  const pool = await openWorkerPool({ threads })
  pool.limitJobs(threads, pauses)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  const before = ownThread() === 0 ? 0 : sleepsOfWorkers()
  await field.apply(1, rowsOf(rows, dimension, 0, 3_000), nothing)
  for (let version = 2; version < 8; version++) {
    const first = 101 * (version - 2)
    const reused = Uint32Array.from({ length: 101 }, (_, i) => first + i)
    await field.apply(version, undefined, reused)
    const { vectors, norms } = rowsOf(rows, dimension, 3_000 + first, 3_101 + first)
    await field.apply(version, { ordinals: reused, vectors, norms }, nothing)
  }
  const sleeps = ownThread() === 0 ? 0 : sleepsOfWorkers() - before
  const digest = String(drain(field.digestInSteps()))
  await field.close()
  await pool.close()
  return { digest, sleeps }
}

function drain<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

test('what is built does not depend on pauses and threads', async (t) => {
  const alone = await build(1, false)
  for (const threads of [1, 3])
    t.equal((await build(threads, true)).digest, alone.digest, `${threads} threads that pause`)
})

test('workers give up their cores while they build', { skip: ownThread() === 0 }, async (t) => {
  const [busy, pausing] = [await build(1, false), await build(1, true)]
  t.ok(pausing.sleeps > 4 * busy.sleeps, `${pausing.sleeps} sleeps with pauses, ${busy.sleeps} without`)
})
