// HDF5: a matrix with one vector for each row, such as `train` of the files of ann-benchmarks. Blocks of rows are read; a file may be
// larger than memory.
import { stat } from 'node:fs/promises'
import hdf5, { type Dataset, type Group } from 'h5wasm/node'
import { dataError, usageError } from '../exit-code.ts'
import type { RowFile } from './rows.ts'

/** The dataset of the vectors in files of ann-benchmarks. */
const usual = 'train'
const blockBytes = 16 * 1024 * 1024
const dimensionMax = 10_000
/** Bytes that a byte of the file can have: deflate packs 1,032. Rows that are nowhere in the file would have no end. */
const packedMax = 1_100
const namesShown = 20

/** `dataset` is a path in the file; by default `train`, or the only matrix. Close it when the rows are read. */
export async function openHdf5(file: string, dataset: string | undefined): Promise<RowFile & { close(): void }> {
  // A missing file and a folder have errors of their own.
  const stats = await stat(file)
  if (!stats.isFile()) throw usageError(`${file}: it is not a file`)
  const { activate_throwing_error_handler: throwErrors } = await hdf5.ready
  throwErrors()
  const opened = naming(file, () => new hdf5.File(file, 'r'))
  try {
    const matrix = naming(file, () => chosen(opened, dataset, file))
    const [rows = 0, dimension = 0] = matrix.shape ?? []
    const rowBytes = dimension * matrix.metadata.size
    if (rows * rowBytes > stats.size * packedMax)
      throw dataError(`${file}: ${rows} rows of ${dimension} numbers do not fit into its ${stats.size} bytes`)
    const rowsOfBlock = Math.max(1, Math.floor(blockBytes / rowBytes))
    return {
      rows,
      dimension,
      async *read(firstRow) {
        for (let from = firstRow; from < rows; from += rowsOfBlock) {
          const to = Math.min(rows, from + rowsOfBlock)
          const where = `${file}, rows ${from + 1} to ${to}`
          const numbers = naming(where, () =>
            matrix.slice([
              [from, to],
              [0, dimension],
            ]),
          ) as ArrayLike<number | bigint>
          if (numbers.length !== (to - from) * dimension) throw dataError(`${where}: only ${numbers.length} numbers`)
          for (let row = 0; row < to - from; row += 1) {
            yield Float32Array.from({ length: dimension }, (_, i) => Number(numbers[row * dimension + i]))
          }
        }
      },
      close: () => opened.close(),
    }
  } catch (error) {
    opened.close()
    throw error
  }
}

function chosen(root: Group, wanted: string | undefined, file: string): Dataset {
  const matrices = matricesIn(root, file)
  const [only, other] = matrices
  const name = wanted ?? (matrices.some(({ path }) => path === usual) || other !== undefined ? usual : only?.path)
  const found = matrices.find(({ path }) => path === name)
  if (found === undefined) {
    const names = matrices
      .slice(0, namesShown)
      .map(({ path }) => path)
      .join(', ')
    throw usageError(
      `${file} has no matrix ${JSON.stringify(name ?? usual)}; choose one with --dataset: ${names || 'there is none'}`,
    )
  }
  const { path, dataset } = found
  const { type, size } = dataset.metadata
  // Integers and floats of HDF5.
  if ((type !== 0 && type !== 1) || size > 8)
    throw usageError(`${file}: the dataset ${path} has no numbers, but ${String(dataset.dtype)}`)
  const dimension = dataset.shape?.[1] ?? 0
  if (dimension < 1 || dimension > dimensionMax) {
    throw usageError(
      `${file}: the dataset ${path} has vectors of ${dimension} numbers; the limits are 1 and ${dimensionMax}`,
    )
  }
  return dataset
}

/** More than any file has that people write; links in a circle would have no end. */
const namesMax = 10_000

interface Matrix {
  readonly path: string
  readonly dataset: Dataset
}

function matricesIn(root: Group, file: string): readonly Matrix[] {
  const matrices: Matrix[] = []
  const waiting: { readonly group: Group; readonly prefix: string }[] = [{ group: root, prefix: '' }]
  let names = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { group, prefix } = next
    for (const name of group.keys()) {
      names += 1
      if (names > namesMax) throw dataError(`${file} has more than ${namesMax} names`)
      const found = group.get(name)
      if (found === null) continue
      if ('shape' in found) {
        if (found.shape?.length === 2) matrices.push({ path: `${prefix}${name}`, dataset: found as Dataset })
      } else if ('keys' in found) waiting.push({ group: found as Group, prefix: `${prefix}${name}/` })
    }
  }
  return matrices
}

/** Errors of the library are stacks of many lines, the last of which says why. */
function naming<T>(where: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'CommandEnd') throw error
    const reason = /^(?:.*minor: |)(.*?)\s*$/s.exec(error.message)?.[1] ?? ''
    throw dataError(`${where}: not readable as HDF5: ${reason.split('\n').at(-1)}`)
  }
}
