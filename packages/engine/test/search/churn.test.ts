// Ten rounds that each delete a fifth of the objects and insert as many others: filtered and plain searches keep their recall, and deleted
// objects are never returned.
import { test } from 'tap'
import { clusteredRows } from '../vector/world.ts'
import { denseField, openCollection } from './rig.ts'

const dimension = 32
const count = 5_000
const cycles = 10
const k = 10

test('recall with and without filters is kept through ten cycles of delete and insert', async (t) => {
  const collection = await openCollection(t, [denseField(dimension, { precision: 'int8' })])
  const rows = clusteredRows(count * (1 + cycles / 5), dimension, 41, 60)
  const queries = clusteredRows(60, dimension, 42, 60)
  const vector = (i: number) => rows.subarray(i * dimension, (i + 1) * dimension)
  const alive = new Set<number>()
  const insert = async (from: number, to: number) => {
    for (let index = from; index < to; index += 1_000) {
      const numbers = Array.from({ length: Math.min(1_000, to - index) }, (_, i) => index + i)
      await collection.upsert(numbers.map((i) => ({ id: `${i}`, filter: { n: i % 20 }, fields: { dense: vector(i) } })))
      for (const i of numbers) alive.add(i)
    }
  }
  await insert(0, count)
  const before = await recalls()
  for (let cycle = 0; cycle < cycles; cycle++) {
    const gone = [...alive].filter((i) => (i * 7 + cycle) % 5 === 0).slice(0, count / 5)
    await collection.delete(gone.map(String))
    for (const i of gone) alive.delete(i)
    const next = count + (cycle * count) / 5
    await insert(next, next + count / 5)
  }
  const after = await recalls()
  before.forEach((recall, i) => {
    const now = after[i] ?? 0
    t.ok(
      now >= recall - 0.01 && now >= 0.95,
      `${['plain', '5 %', '50 %'][i]}: ${recall.toFixed(4)}, then ${now.toFixed(4)}`,
    )
  })

  async function recalls(): Promise<number[]> {
    const sums = [0, 0, 0]
    for (let query = 0; query * dimension < queries.length; query++) {
      const queryVector = queries.subarray(query * dimension, (query + 1) * dimension)
      for (const [i, [filter, wanted]] of [
        [[], () => true] as const,
        [[{ n: { $eq: 3 } }], (n: number) => n % 20 === 3] as const,
        [[{ n: { $lt: 10 } }], (n: number) => n % 20 < 10] as const,
      ].entries()) {
        const matches = [...alive].filter(wanted).map((n) => distance(vector(n), queryVector))
        const last = matches.sort((a, b) => a - b)[k - 1] ?? 0
        const tuned = i === 2 ? { prefilterCardinalityThreshold: 1_000 } : {}
        const { results } = await collection.search({
          fields: { dense: { query: queryVector, limit: k } },
          filter,
          ...tuned,
        })
        const found = (results.dense ?? []).map(({ id }) => Number(id))
        if (found.length !== k || !found.every((n) => alive.has(n) && wanted(n))) t.fail(`query ${query}: ${found}`)
        sums[i] = (sums[i] ?? 0) + found.filter((n) => distance(vector(n), queryVector) <= last).length / k
      }
    }
    return sums.map((sum) => sum / (queries.length / dimension))
  }
})

function distance(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += ((a[i] ?? 0) - (b[i] ?? 0)) ** 2
  return sum
}
