// The arithmetic between a vector as given, as compared, and as a client of the Endee protocol sends it.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import {
  comparedVector,
  givenVector,
  isUnitLength,
  lengthOf,
  scaleToUnit,
  sentVector,
  vectorForm,
} from '../../src/model/vector-form.ts'

const seed = chosenSeed()
const random = seededRandom(seed)

function someVector(dimension: number, length: number): Float32Array {
  const vector = Float32Array.from({ length: dimension }, () => random.next() - 0.5)
  const scale = length / lengthOf(vector)
  return vector.map((x) => x * scale)
}

/** Distance of two numbers of the same sign, in units in the last place of float32. */
function ulps(a: number, b: number): number {
  const [x, y] = new Int32Array(Float32Array.of(a, b).buffer)
  return Math.abs((x as number) - (y as number))
}

test('a vector stored by an earlier version differs from the given one by at most 2 units in the last place', (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  let most = 0
  for (let round = 0; round < 4_000; round++) {
    const given = someVector(2 + random.below(60), 10 ** (6 * random.next() - 3))
    const row = given.slice()
    const norm = lengthOf(given)
    scaleToUnit(given, norm, row, 0)
    const read = givenVector(row, Math.fround(norm), vectorForm.unit)
    for (const [i, x] of given.entries()) most = Math.max(most, ulps(x, read[i] as number))
  }
  t.ok(most <= 2, `${most} units at most`)
  t.ok(most > 0, 'and the product is not the vector itself')
  t.end()
})

test('only a vector of unit length is the same in every form', (t) => {
  for (let round = 0; round < 500; round++) {
    const unit = someVector(3 + random.below(60), 1)
    t.ok(isUnitLength(lengthOf(unit)))
    for (const read of [givenVector(unit, 1, vectorForm.unit), comparedVector(unit, vectorForm.given)])
      t.strictSame(read, unit)
    const long = someVector(3 + random.below(60), 1.5 + random.next())
    t.equal(givenVector(long, lengthOf(long), vectorForm.given), long)
    t.ok(isUnitLength(lengthOf(comparedVector(long, vectorForm.given))))
    t.strictSame(sentVector(long, vectorForm.given), comparedVector(long, vectorForm.given))
    t.equal(sentVector(long, vectorForm.givenWithNorm), long, 'what came with a norm goes out as it came')
  }
  t.end()
})

test('a norm multiplies a vector unless nothing was divided by it', (t) => {
  const vector = Float32Array.of(3, -0, 4)
  t.strictSame(givenVector(vector, 2, vectorForm.givenWithNorm), Float32Array.of(6, -0, 8))
  t.equal(givenVector(vector, 1, vectorForm.givenWithNorm), vector)
  t.equal(givenVector(vector, 5, vectorForm.givenWithNorm), vector, 'its own length')
  const unit = Float32Array.of(0.6, 0.8)
  t.strictSame(givenVector(unit, 5, vectorForm.unit), Float32Array.of(3, 4))
  const zero = Float32Array.of(0, -0)
  t.ok(Object.is(givenVector(zero, 0, vectorForm.unit)[1], -0))
  t.strictSame(comparedVector(zero, vectorForm.givenWithNorm), zero)
  t.end()
})
