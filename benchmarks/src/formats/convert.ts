// `npm run bench:convert -- --data DIR --set NAME --to FILE.hdf5` (or a folder, for fvecs and ivecs): converts a set to a common format, so
// that other tools can run it.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readOptions } from '../options.ts'
import { answersKept, makeClustered, readDataset } from '../sets/dataset.ts'
import { exactAnswers } from '../sets/exact.ts'
import { writeHdf5 } from './hdf5.ts'
import { writeVecs } from './vecs.ts'

const values = readOptions({ data: String, set: String, to: String })
const { data, set: name, to } = values
if (name === undefined || to === undefined) throw new Error('--set NAME and --to FILE.hdf5 or --to FOLDER are required')
const made = /^clustered-(\d+)$/.exec(name)
if (made === null && data === undefined) throw new Error('--data DIR is required for sets that are not generated')
const set = made ? await exactAnswers(makeClustered(Number(made[1]), 128, 1)) : await readDataset(data as string, name)
if (to.endsWith('.hdf5')) await writeHdf5(to, set)
else {
  await mkdir(to, { recursive: true })
  await writeVecs(join(to, `${name}_base.fvecs`), { dimension: set.dimension, values: set.base })
  await writeVecs(join(to, `${name}_query.fvecs`), { dimension: set.dimension, values: set.queries })
  await writeVecs(join(to, `${name}_groundtruth.ivecs`), { dimension: answersKept, values: set.truth })
}
console.log(
  `${to}: ${set.base.length / set.dimension} x ${set.dimension}, ${set.queries.length / set.dimension} queries`,
)
