import { test } from 'tap'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'

const numbers = (from: number, count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => from + i)

function rowsOf(vectors: VectorRows): number[][] {
  const each = Array.from({ length: vectors.length }, (_, i) => [...vectors.row(i)])
  // Copying at once and one at a time gives the same.
  const all = new Float32Array(vectors.length * vectors.dimension)
  vectors.copy(0, vectors.length, all)
  const one = new Float32Array(vectors.dimension)
  for (let i = 0; i < vectors.length; i++) {
    vectors.copy(i, i + 1, one)
    if (`${[...one]}` !== `${each[i]}`) return []
  }
  return `${[...all]}` === `${each.flat()}` ? each : []
}

test('rows of one array, selected rows, and those after others', (t) => {
  const whole = new VectorRows(numbers(0, 6), 2)
  t.same(rowsOf(whole), [
    [0, 1],
    [2, 3],
    [4, 5],
  ])
  const chosen = new VectorRows(numbers(0, 6), 2, [2, 0])
  t.same(rowsOf(chosen), [
    [4, 5],
    [0, 1],
  ])
  t.same(rowsOf(chosen.after(new VectorRows(numbers(10, 4), 2))), [
    [10, 11],
    [12, 13],
    [4, 5],
    [0, 1],
  ])
  t.equal(new VectorRows(numbers(0, 0), 2).length, 0)
  t.end()
})
