// The center around which a graph settles: the mean of rows, without those that are far from the others since rules 5.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { rulesNewest } from '../../src/model/schema.ts'
import { centerOf } from '../../src/vector/dense/settle-rows.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'

const seed = chosenSeed()
const dimension = 8

function rowsOf(count: number, scaleOf: (i: number) => number = () => 1): Float32Array[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, i) =>
    Float32Array.from({ length: dimension }, () => (random.next() - 0.25) * scaleOf(i)),
  )
}

const joined = (rows: readonly Float32Array[]) =>
  new VectorRows(Float32Array.from(rows.flatMap((row) => [...row])), dimension)

function meanOf(rows: readonly Float32Array[]): Float32Array {
  return Float32Array.from({ length: dimension }, (_, i) => {
    let sum = 0
    for (const row of rows) sum += row[i] as number
    return sum / rows.length
  })
}

test(`rows of similar lengths count by all rules, bit for bit, seed ${seed}`, async (t) => {
  const rows = rowsOf(400, (i) => 1 + (i % 3))
  for (let rules = 1; rules <= rulesNewest; rules++)
    t.strictSame(await centerOf(joined(rows), rules), meanOf(rows), `rules ${rules}`)
})

test('rows that are far from the others count until rules 4', async (t) => {
  for (const [far, scale] of [
    [1, 1e6],
    [10, 1_000],
    [50, 1e12],
  ] as const) {
    const rows = rowsOf(400, (i) => (i < far ? scale : 1))
    const others = rows.slice(far)
    t.strictSame(await centerOf(joined(rows), 4), meanOf(rows))
    t.strictSame(await centerOf(joined(rows), 5), meanOf(others), `${far} rows ${scale} times as long`)
  }
})

test('the center of these rows never changes, because a replay of a log depends on it', async (t) => {
  const random = seededRandom(1)
  const rows = Array.from({ length: 300 }, (_, i) =>
    Float32Array.from({ length: dimension }, () => (random.next() - 0.25) * 10 ** (i % 9)),
  )
  t.equal(
    Buffer.from((await centerOf(joined(rows), 5)).buffer).toString('hex'),
    'bed35344a600fb4318b00e440a6c2f4433e22b44f88205440a5cbe4379ab5a44',
  )
})

test('rows of every order of magnitude: the center is among the shorter half', async (t) => {
  const rows = rowsOf(1_000, (i) => 10 ** (((i * 7) % 30) - 15))
  const center = await centerOf(joined(rows), 5)
  t.ok(Math.hypot(...center) < 1_000, `at ${Math.hypot(...center)}`)
})

test('copies count once, and the center of equal rows is the row', async (t) => {
  const [one, other] = rowsOf(2) as [Float32Array, Float32Array]
  const copies = Array.from({ length: 300 }, () => one)
  for (const rules of [2, 5]) {
    t.strictSame(await centerOf(joined(copies), rules), one)
    t.strictSame(await centerOf(joined([...copies, other]), rules), meanOf([one, other]))
  }
})
