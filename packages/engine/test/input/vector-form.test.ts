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
    most = Math.max(most, unitsOff(given, keptByEarlierVersions(given)))
  }
  t.ok(most <= 2, `${most} units at most`)
  t.ok(most > 0, 'and the product is not the vector itself')
  t.end()
})

/** A vector is divided by its length unless that is 1 within 1e-6; the norm is rounded afterwards. */
function keptByEarlierVersions(given: Float32Array): Float32Array {
  const row = given.slice()
  const norm = lengthOf(given)
  scaleToUnit(given, norm, row, 0)
  return givenVector(row, Math.fround(norm), vectorForm.unit)
}

function unitsOff(given: Float32Array, read: Float32Array): number {
  return given.reduce((most, x, i) => Math.max(most, ulps(x, read[i] as number)), 0)
}

test('a vector stored by an earlier version is read within 2 units also if its length is near 1', (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  let [most, undivided, divided] = [0, 0, 0]
  for (let round = 0; round < 20_000; round++) {
    // Half of them where a norm that was rounded to float32 is on the other side of the tolerance than the length.
    const off =
      round % 2 === 0 ? 4e-6 * random.next() - 2e-6 : (random.below(2) - 0.5) * 2 * (0.9e-6 + 0.2e-6 * random.next())
    const given = someVector(2 + random.below(60), 1 + off)
    const read = keptByEarlierVersions(given)
    const isUnit = isUnitLength(lengthOf(given))
    if (isUnit) undivided++
    else divided++
    if (isUnit && unitsOff(given, read) !== 0)
      t.fail(`${lengthOf(given)} was not divided, and is returned as another vector`)
    most = Math.max(most, unitsOff(given, read))
  }
  t.ok(most <= 2, `${most} units at most`)
  t.ok(undivided > 1_000 && divided > 1_000, `${undivided} undivided, ${divided} divided`)
  t.end()
})

test('a vector that a client divided by a norm near 1 comes back as the product', (t) => {
  for (let round = 0; round < 4_000; round++) {
    const sign = random.below(2) === 0 ? 1 : -1
    const norm = Math.fround(1 + sign * (3e-7 + 3e-6 * random.next()))
    const unit = comparedVector(someVector(3 + random.below(60), 3), vectorForm.given)
    const read = givenVector(unit, norm, vectorForm.unit)
    if (
      unitsOff(
        unit.map((x) => x * norm),
        read,
      ) !== 0
    )
      t.fail(`norm ${norm} of a row of length ${lengthOf(unit)}`)
  }
  t.pass('each is multiplied by its norm')
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
