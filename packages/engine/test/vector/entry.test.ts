// Searches enter a graph at one row. When its ordinal is given to another object, they enter at another one. A sweep may have taken that
// one out of the graph before; searches find what there is all the same, with graphs by any rules.
import { chosenSeed } from '@annal/wal/testing'
import { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { rulesNewest } from '../../src/model/schema.ts'
import { type GraphDenseField, loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { levelOf } from '../../src/vector/dense/level.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, dumpField, recall, rowsOf } from './world.ts'

const seed = chosenSeed()
const dimension = 16
const n = 1_200
const M = 4
const nothing = new Uint32Array(0)
const queries = 40

for (let rules = 1; rules <= rulesNewest; rules++)
  for (const precision of ['float32', 'int8', 'binary', 'int2', 'int4'] as const)
    test(`rules ${rules}, ${precision}`, async (t) => {
      t.comment(`ANNAL_SEED=${seed}`)
      const pool = await openWorkerPool({ threads: 1 })
      const definition = definitionOf({ dimension, precision, rules, M, efConstruction: 32 })
      const field = await openDenseField(definition, pool)
      const all = clusteredRows(2 * n, dimension, seed)
      let next = n
      let version = 1

      await field.apply(version, rowsOf(all, dimension, 0, n), nothing)
      const byHeight = Array.from({ length: n }, (_, i) => i).sort((a, b) => levelOf(b, M) - levelOf(a, M) || a - b)
      const remove = async (ordinals: Uint32Array) => {
        await field.apply(++version, undefined, ordinals)
        await field.sweep(version)
      }
      const add = async (ordinal: number) => {
        const row = all.subarray(next * dimension, ++next * dimension)
        const rows = { ordinals: Uint32Array.of(ordinal), vectors: row, norms: Float32Array.of(1) }
        await field.apply(++version, rows, nothing)
      }
      /** Recall compared with the rows that the field keeps; of all queries together. */
      const found = async (searched: GraphDenseField) => {
        let sum = 0
        for (let i = 0; i < queries; i++) {
          const query = all.subarray((2 * n - 1 - i) * dimension, (2 * n - i) * dimension)
          const scanned = await searched.scan(query, { k: 10, version })
          const truth = [...scanned.ordinals].map((ordinal) => ({ ordinal, similarity: 0 }))
          const hits = await searched.search(query, { k: 10, ef: 128, version })
          const here = searched.searchSync(query, { k: 10, ef: 128, version })
          t.strictSame(here.ordinals, hits.ordinals)
          sum += recall(hits, truth)
        }
        return sum / queries
      }

      // The highest rows are swept, but for the one at which searches enter.
      await remove(Uint32Array.from(byHeight.slice(1, 1 + n / 3)).sort())
      t.equal(field.health().removed, 0, 'they were swept')
      const entry = byHeight[0] as number
      await remove(Uint32Array.of(entry))
      await add(entry)
      const isCutOff = field.health().unreachable > n / 2
      t.equal(isCutOff, rules === 1, `${field.health().unreachable} rows cannot be reached`)
      // A walk that finds fewer than k is followed by a comparison of all rows; so there have to be more.
      for (const ordinal of byHeight.slice(2, 32)) await add(ordinal)
      t.ok((await found(field)) > 0.95, `${await found(field)} are found`)
      const loaded = await loadDenseField(definition, pool, sourceOf([await dumpField(field)]))
      t.ok((await found(loaded)) > 0.95, 'and after a start')
      await loaded.close()
      // Enough for the graph to be looked over for rows that cannot be reached.
      for (const ordinal of byHeight.slice(32, 132)) await add(ordinal)
      t.ok(field.health().unreachable < n / 100, 'the graph is one again')
      t.ok((await found(field)) > 0.95, `${await found(field)} are found`)
      await field.close()
      await pool.close()
    })
