// Opens a set by path: an HDF5 file of ann-benchmarks, or a folder with the `base`, `query`, and `groundtruth` files of TEXMEX.
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { answersOf, type Dataset, normalizeForMetric } from '../sets/dataset.ts'
import { readHdf5 } from './hdf5.ts'
import { readVecs } from './vecs.ts'

export async function openPublicSet(path: string): Promise<Dataset> {
  if (path.endsWith('.hdf5')) return readHdf5(path)
  const names = await readdir(path)
  const one = async (ending: RegExp) => {
    const name = names.find((candidate) => ending.test(candidate))
    if (name === undefined) throw new Error(`${path} has no file like ${ending.source}`)
    return readVecs(join(path, name))
  }
  const base = await one(/base\.[fb]vecs$/)
  const queries = await one(/query\.[fb]vecs$/)
  const answers = await one(/groundtruth\.ivecs$/)
  return normalizeForMetric({
    name: basename(path),
    dimension: base.dimension,
    metric: 'l2',
    base: Float32Array.from(base.values),
    queries: Float32Array.from(queries.values),
    truth: answersOf(Int32Array.from(answers.values), answers.dimension),
  })
}
