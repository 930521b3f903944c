// Real pictures with filters of every selectivity, and with classes that include or exclude the neighborhood of the query: recall with
// default settings, and as many results as there are matches. ANNAL_LONG=1 uses all 60,000.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { openCollection } from './rig.ts'

const besideRepository = join(dirname(fileURLToPath(import.meta.url)), '../../../../../shared/data')
const folder = join(process.env.ANNAL_DATA ?? besideRepository, 'fashion-mnist')
const skip = !existsSync(join(folder, 'base.u8')) && 'fashion-mnist is not on this machine (ANNAL_DATA)'
const rows = process.env.ANNAL_LONG === undefined ? 12_000 : 60_000
const queries = 30
const k = 10
const dimension = 784

test('filtered searches find the exact results, and k results if k objects match', { skip }, async (t) => {
  const read = (file: string) => new Uint8Array(readFileSync(join(folder, file)))
  const [base, queryRows, labels, queryLabels] = ['base.u8', 'queries.u8', 'base_labels.u8', 'query_labels.u8'].map(
    read,
  ) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
  const row = (i: number) => base.subarray(i * dimension, (i + 1) * dimension)
  // A number that is independent of the picture: row numbers in steps that visit each once.
  const numberOf = (i: number) => (i * 7_919) % rows
  const params = { dimension, spaceType: 'l2', precision: 'int8' } as const
  const collection = await openCollection(t, [{ name: 'photo', type: 'vector', params }])
  for (let from = 0; from < rows; from += 1_000) {
    const objects = Array.from({ length: 1_000 }, (_, j) => ({
      id: `${from + j}`,
      filter: { label: labels[from + j] ?? 0, number: numberOf(from + j) },
      fields: { photo: row(from + j) },
    }))
    await collection.upsert(objects)
  }
  const below = (share: number) => {
    const end = Math.max(1, Math.round(share * rows))
    return {
      name: `${share * 100} %`,
      filter: () => [{ number: { $lt: end } }],
      wanted: () => (i: number) => numberOf(i) < end,
    }
  }
  const byLabel = (name: string, shift: number) => ({
    name,
    filter: (query: number) => [{ label: { $eq: ((queryLabels[query] ?? 0) + shift) % 10 } }],
    wanted: (query: number) => (i: number) => labels[i] === ((queryLabels[query] ?? 0) + shift) % 10,
  })
  const cases = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1].map(below)
  for (const { name, filter, wanted } of [...cases, byLabel('own class', 0), byLabel('another class', 5)]) {
    let recall = 0
    for (let query = 0; query < queries; query++) {
      const vector = queryRows.subarray(query * dimension, (query + 1) * dimension)
      const isWanted = wanted(query)
      const distances: number[] = []
      for (let i = 0; i < rows; i++) if (isWanted(i)) distances.push(squaredDistance(row(i), vector))
      const truth = distances.sort((a, b) => a - b).slice(0, k)
      const { results, complete } = await collection.search({
        fields: { photo: { query: vector } },
        filter: filter(query),
      })
      const found = (results.photo ?? []).map(({ id }) => Number(id))
      if (found.length !== truth.length || !complete || !found.every(isWanted))
        t.fail(`${name}, query ${query}: ${found}`)
      const last = truth.at(-1) ?? 0
      recall += found.filter((i) => squaredDistance(row(i), vector) <= last).length / truth.length / queries
    }
    t.ok(recall >= 0.97, `${name}: recall ${recall.toFixed(4)}`)
  }
})

function squaredDistance(a: Uint8Array, b: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += ((a[i] ?? 0) - (b[i] ?? 0)) ** 2
  return sum
}
