// Codes of rotated vectors, of one, two, and four bits: codes and graphs equal those of the reference, and the estimates are valid
// similarities.
import tap, { test } from 'tap'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { packedCodes, unpack } from './reference-packed.ts'
import { signCodes } from './reference-signs.ts'
import { compareCodes, compareGraphs, type RotatedCodes } from './rotated-world.ts'

tap.setTimeout(300_000)

const all: readonly RotatedCodes[] = [
  {
    precision: 'binary',
    codes: signCodes,
    unpack: (bytes) =>
      Array.from({ length: bytes.length * 8 }, (_, i) => 2 * (((bytes[i >> 3] as number) >> (i & 7)) & 1) - 1),
  },
  ...(['int4', 'int2'] as const).map((precision) => ({
    precision,
    codes: packedCodes,
    unpack: (bytes: Uint8Array) => unpack(bytes, precision),
  })),
]
const isLong = process.env.ANNAL_LONG !== undefined
const seed = Number(process.env.ANNAL_SEED ?? 17)

for (const codes of all) {
  test(`${codes.precision}: codes, factors, and estimates equal those of the reference, bit for bit`, async (t) => {
    const pool = await openWorkerPool({ threads: 2 })
    await compareCodes(t, pool, codes, { rounds: isLong ? 2_000 : 60, seed })
    await pool.close()
  })

  test(`${codes.precision}: so do those of the build without relaxed SIMD`, async (t) => {
    const pool = new ThreadPool(await compileKernel('plain'), 1)
    await pool.started()
    await compareCodes(t, pool, codes, { rounds: 30, seed: 18 })
    await compareGraphs(t, pool, codes, { rounds: 15, seed: 20 })
    await pool.close()
  })

  test(`${codes.precision}: graphs equal those of the reference, link for link`, async (t) => {
    const pool = await openWorkerPool({ threads: 2 })
    await compareGraphs(t, pool, codes, { rounds: isLong ? 1_000 : 60, seed: seed + 2 })
    await pool.close()
  })
}
