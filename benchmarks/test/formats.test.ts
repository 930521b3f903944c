import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { readHdf5, writeHdf5 } from '../src/formats/hdf5.ts'
import { openPublicSet } from '../src/formats/open.ts'
import { readVecs, writeVecs } from '../src/formats/vecs.ts'
import { answersKept, type Dataset, makeClustered } from '../src/sets/dataset.ts'
import { exactAnswers } from '../src/sets/exact.ts'

async function inDirectory(act: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-formats-'))
  try {
    await act(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

async function smallSet(): Promise<Dataset> {
  const { queries, ...rest } = makeClustered(300, 16, 3)
  return exactAnswers({ ...rest, queries: queries.subarray(0, 20 * 16) })
}

test('a set written as an ann-benchmarks HDF5 file reads back unchanged', async (t) => {
  await inDirectory(async (dir) => {
    const set = await smallSet()
    const path = join(dir, 'small.hdf5')
    await writeHdf5(path, set)
    const read = await readHdf5(path)
    t.match(read, { name: 'small', dimension: 16, metric: 'cosine' })
    t.same(read.truth, set.truth)
    t.ok(read.base.every((x, i) => Math.abs(x - (set.base[i] as number)) < 1e-6))
    t.same(read.queries.length, set.queries.length)
    await t.rejects(readHdf5(join(dir, 'none.hdf5')), /does not exist/)
  })
})

test('a set written as fvecs and ivecs reads back unchanged, and other files are rejected', async (t) => {
  await inDirectory(async (dir) => {
    const set = await smallSet()
    await writeVecs(join(dir, 's_base.fvecs'), { dimension: 16, values: set.base })
    await writeVecs(join(dir, 's_query.fvecs'), { dimension: 16, values: set.queries })
    await writeVecs(join(dir, 's_groundtruth.ivecs'), { dimension: answersKept, values: set.truth })
    const read = await openPublicSet(dir)
    t.same(read.base, set.base)
    t.same(read.queries, set.queries)
    t.same(read.truth, set.truth)
    await writeVecs(join(dir, 'bytes.bvecs'), { dimension: 3, values: Uint8Array.of(1, 2, 3, 4, 5, 255) })
    t.same(await readVecs(join(dir, 'bytes.bvecs')), { dimension: 3, values: Uint8Array.of(1, 2, 3, 4, 5, 255) })
    await t.rejects(
      writeVecs(join(dir, 'x.ivecs'), { dimension: 2, values: Float32Array.of(1, 2) }),
      /does not match its extension/,
    )
    await writeFile(join(dir, 'cut.fvecs'), Buffer.from([2, 0, 0, 0, 1, 2, 3]))
    await t.rejects(readVecs(join(dir, 'cut.fvecs')), /is not a multiple of a row/)
    await t.rejects(openPublicSet(join(dir, '..')), /has no file like/)
  })
})
