import { readdirSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { test } from 'tap'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { lowerPriority, ownThread } from '../../src/vector/threads/thread-state.ts'

const { PRIORITY_BELOW_NORMAL: step, PRIORITY_LOW: lowest } = constants.priority

/** Priorities of all threads of this process. */
function priorities(): number[] {
  return readdirSync('/proc/self/task').map((thread) => getPriority(Number(thread)))
}

test('workers have a lower priority than every other thread', { skip: ownThread() === 0 }, async (t) => {
  const own = getPriority(ownThread())
  const expected = Math.min(lowest, own + step)
  const pool = await openWorkerPool({ threads: 3 })
  t.equal(priorities().filter((priority) => priority === expected).length, 3)
  t.equal(getPriority(ownThread()), own, 'the owner keeps its priority')
  await pool.close()
})

test('an unknown thread keeps its priority', async (t) => {
  lowerPriority(0)
  lowerPriority(2 ** 30)
  t.pass()
})
