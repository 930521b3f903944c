import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'

const seed = chosenSeed()
const dimension = 8
const rounds = 250

tap.setTimeout(300_000)

// Links to a reused ordinal from its former place still exist at every level. A walk that visited it while its lists are written would
// build another graph. M is small so that many nodes reach the upper levels.
test(`ordinals reused repeatedly build the same graph with one worker and with several, seed ${seed}`, async (t) => {
  const params = { dimension, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 16 } as const
  const digests: bigint[] = []
  for (const threads of [1, 2, 2, 3]) {
    const random = seededRandom(seed)
    const pool = await openWorkerPool({ threads })
    const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
    let free: number[] = []
    let live: number[] = []
    let end = 0
    for (let version = 1; version <= rounds; version++) {
      const ordinals = Array.from({ length: 40 }, () => free.shift() ?? end++).sort((a, b) => a - b)
      const vectors = Float32Array.from({ length: ordinals.length * dimension }, () => random.next())
      const removed = live.length > 900 ? live.splice(0, 40) : []
      const norms = new Float32Array(ordinals.length).fill(1)
      field.reserve(end)
      await field.apply(version, { ordinals: Uint32Array.from(ordinals), vectors, norms }, Uint32Array.from(removed))
      await field.sweep(version)
      free = [...free, ...removed]
      live = [...live, ...ordinals]
    }
    digests.push(field.digest())
    await field.close()
    await pool.close()
  }
  t.equal(new Set(digests).size, 1, digests.join(' '))
})
