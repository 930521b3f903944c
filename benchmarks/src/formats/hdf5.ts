// Reads and writes files of ann-benchmarks: HDF5 with `train`, `test`, `neighbors`, and the attribute `distance` (`angular` or
// `euclidean`).
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import h5wasm, { type Dataset as H5Dataset } from 'h5wasm/node'
import { answersKept, answersOf, type Dataset, normalizeForMetric } from '../sets/dataset.ts'

const distances = { angular: 'cosine', euclidean: 'l2' } as const

export async function readHdf5(path: string): Promise<Dataset> {
  await h5wasm.ready
  if (!existsSync(path)) throw new Error(`the file ${path} does not exist`)
  const file = new h5wasm.File(path, 'r')
  try {
    const numbers = (name: string) => {
      const found = file.get(name) as H5Dataset | null
      if (found === null || found.shape?.length !== 2) throw new Error(`${path} has no matrix "${name}"`)
      return { values: found.value as ArrayLike<number>, columns: found.shape[1] as number }
    }
    const distance = String(file.attrs.distance?.value)
    const metric = distances[distance as keyof typeof distances]
    if (metric === undefined)
      throw new Error(`${path} uses the distance ${distance}; only angular and euclidean are supported`)
    const [train, test, neighbors] = [numbers('train'), numbers('test'), numbers('neighbors')]
    if (neighbors.columns < 10)
      throw new Error(`${path} has ${neighbors.columns} neighbors for each query; 10 are required`)
    return normalizeForMetric({
      name: basename(path, '.hdf5'),
      dimension: train.columns,
      metric,
      base: Float32Array.from(train.values),
      queries: Float32Array.from(test.values),
      truth: answersOf(Int32Array.from(neighbors.values), neighbors.columns),
    })
  } finally {
    file.close()
  }
}

export async function writeHdf5(path: string, set: Dataset): Promise<void> {
  await h5wasm.ready
  const file = new h5wasm.File(path, 'w')
  try {
    const queries = set.queries.length / set.dimension
    const matrix = (name: string, data: Float32Array | Int32Array, columns: number) =>
      file.create_dataset({ name, data, shape: [data.length / columns, columns] })
    matrix('train', set.base, set.dimension)
    matrix('test', set.queries, set.dimension)
    matrix('neighbors', set.truth.subarray(0, queries * answersKept), answersKept)
    file.create_attribute('distance', set.metric === 'cosine' ? 'angular' : 'euclidean')
  } finally {
    file.close()
  }
}
