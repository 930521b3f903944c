// Memories that pools release and leave behind are collected when they add up, not at the end of each pool.
import { setImmediate as turn } from 'node:timers/promises'
import { takenByProcess } from '@annal/wal/testing'
import { test } from 'tap'
import { exposeCollector, Garbage, releasedMin } from '../../src/vector/threads/garbage.ts'

const skip = takenByProcess() === undefined && 'the system has no /proc to count in'
const perPool = 20

/** Releases memories in a pool that ends. */
async function runPool(collectElsewhere: () => void): Promise<void> {
  const garbage = new Garbage(collectElsewhere)
  for (let i = 0; i < perPool; i++)
    garbage.add(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer.byteLength)
  garbage.end()
  // A collection has a turn of its own.
  for (let i = 0; i < 3; i++) await turn()
}

test('pools that end leave few memories behind, and few collections', { skip }, async (t) => {
  exposeCollector()
  const pools = 30
  let collections = 0
  let most = 0
  for (let pool = 0; pool < pools; pool++) {
    await runPool(() => {
      collections++
    })
    most = Math.max(most, takenByProcess()?.memories ?? 0)
  }
  t.ok(most < 2 * releasedMin + perPool, `${most} memories at most, ${pools * perPool} released`)
  t.ok(collections > 0 && collections <= pools / 2, `${collections} collections for ${pools} pools`)
})
