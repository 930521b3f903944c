// Rows of original vectors compared by the kernel: similarities are those of plain arithmetic, bit for bit, and every flipped bit of a row is
// noticed. Both builds, because reader threads and tests may run either.
import { test } from 'tap'
import { xxh64 } from '../../src/memory/xxh64.ts'
import type { SpaceType } from '../../src/model/schema.ts'
import { chainSum } from '../../src/originals/originals-file.ts'
import { similarityOf } from '../../src/search/max-sim.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { comparerOf, OriginalComparer } from '../../src/vector/dense/original-comparer.ts'
import { createRandom } from './world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const spaces: readonly SpaceType[] = ['cosine', 'l2', 'ip']
const dimensions = [2, 3, 7, 8, 9, 15, 16, 31, 100, 255, 768, 10_000, 5]

/** Writes a row as files have it, after the checksum `before`. */
function putRow(into: Uint8Array, vector: Float32Array, before: bigint, head: bigint): void {
  const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
  const view = new DataView(into.buffer, into.byteOffset, into.byteLength)
  view.setBigUint64(0, before, true)
  into.set(bytes, 8)
  view.setBigUint64(8 + bytes.length, chainSum(bytes, before, head), true)
}

for (const build of ['relaxed', 'plain'] as const)
  test(`${build}: similarities are those of plain arithmetic (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const comparer = new OriginalComparer(await compileKernel(build))
    const vectorOf = (dimension: number, scale: number) =>
      Float32Array.from({ length: dimension }, () => (random() - 0.5) * scale)
    for (const dimension of dimensions)
      for (const space of spaces)
        for (const scale of [1, 1e-20, 1e15, 0]) {
          const [query, vector] = [vectorOf(dimension, 1), vectorOf(dimension, scale)]
          const [before, head] = [xxh64(new Uint8Array(vector.buffer)), BigInt(Math.floor(random() * 2 ** 52)) << 12n]
          comparer.begin(query, space)
          putRow(comparer.row, vector, before, head)
          const similarity = comparer.compare(head)
          if (!Object.is(similarity, similarityOf(query, vector, space)))
            t.fail(`${dimension} ${space} ${scale}: ${similarity} instead of ${similarityOf(query, vector, space)}`)
        }
    t.pass('all are equal')
  })

test(`a row with a flipped bit, or of another file, has no similarity (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const kernel = await compileKernel()
  const comparer = comparerOf(kernel)
  t.equal(comparerOf(kernel), comparer, 'one per thread')
  for (const dimension of [2, 3, 9, 40]) {
    const vector = Float32Array.from({ length: dimension }, random)
    comparer.begin(vector, 'ip')
    putRow(comparer.row, vector, 17n, 2n ** 64n - 3n)
    t.ok(comparer.compare(2n ** 64n - 3n) > 0)
    t.ok(Number.isNaN(comparer.compare(2n ** 64n - 4n)), 'another file')
    for (let bit = 0; bit < comparer.row.length * 8; bit++) {
      const flip = () => {
        comparer.row[bit >> 3] = (comparer.row[bit >> 3] as number) ^ (1 << (bit & 7))
      }
      flip()
      if (!Number.isNaN(comparer.compare(2n ** 64n - 3n))) t.fail(`bit ${bit} of ${dimension} dimensions`)
      flip()
    }
  }
})
