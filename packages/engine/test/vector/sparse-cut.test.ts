// A cut of a sparse field equals the field at its start, whatever writers do while it is prepared and written.
import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { loadSparseField, openSparseField } from '../../src/vector/sparse/field.ts'
import { randomTerms, rowsOfTerms, sparseDefinition, type Terms } from './sparse-world.ts'
import { createRandom } from './world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 11)
const rounds = process.env.ANNAL_LONG === '1' ? 40 : 4

test(`cuts of a sparse field under writes, seed ${seed}`, async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  for (let round = 0; round < rounds; round++) {
    const random = createRandom(seed + round)
    const field = await openSparseField(sparseDefinition(), pool)
    const alive = new Map<number, Terms>()
    const resting: [number, Terms][][] = []
    const free: number[] = []
    let [end, version] = [0, 0]
    const write = async () => {
      version++
      if (resting.length > 3) {
        const ripe = resting.shift() ?? []
        await field.purge(version, rowsOfTerms(ripe))
        free.push(...ripe.map(([ordinal]) => ordinal))
      }
      const gone = [...alive].filter(() => random() < 0.1)
      // Each write removes a tenth, so about 1,500 rows remain, which is five pieces for any seed.
      const added = Array.from({ length: 140 + Math.floor(20 * random()) }, (): [number, Terms] => [
        free.shift() ?? end++,
        randomTerms(random, 1 + Math.floor(30 * random()), 3_000),
      ])
      await field.apply(version, rowsOfTerms(added), rowsOfTerms(gone))
      for (const [ordinal] of gone) alive.delete(ordinal)
      for (const [ordinal, terms] of added) alive.set(ordinal, terms)
      resting.push(gone)
    }
    for (let i = 0; i < 30; i++) await write()
    const prepared = field.prepareCut()
    const ahead = prepared.copyAhead(() => setImmediate())
    for (let i = 0; i < 5; i++) await write()
    await ahead
    const digest = field.digest()
    const cut = prepared.take()
    prepared.release()
    const pieces: Uint8Array[] = []
    for (const piece of cut.pieces) {
      pieces.push(piece.slice())
      for (let i = 0; i < 3; i++) await write()
    }
    cut.release()
    t.ok(pieces.length > 3, `${pieces.length} pieces with writes in between`)
    t.not(field.digest(), digest, 'the field went on')
    const loaded = await loadSparseField(sparseDefinition(), pool, sourceOf(pieces))
    t.equal(loaded.digest(), digest, `round ${round}`)
    await Promise.all([field.close(), loaded.close()])
  }
})
