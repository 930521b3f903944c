// A large set in fields of few bits: memory of the process by part, recall, and the cost of searches with originals in the page cache and with
// a cold disk. Not a part of `bench:all`: a million rows of 768 dimensions take about 6 GB of disk and several minutes of CPU time.
// The load continues where an earlier one ended, also after it was interrupted. The measurement runs in a process of its own, because what a
// load leaves behind is not the memory of a server that was started. That process has the limits for V8 and the allocator that `annal serve`
// sets (packages/cli/src/young-generation.ts).
// `node scripts/run.mjs --built benchmarks/src/large/main.ts` measures the built engine, which takes less memory than the sources.
//   npm run bench:large -- --dir FOLDER [--precision int2] [--rows 1000000] [--dimension 768] [--seed 1] [--queries 100] [--ef 128]
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions } from '../options.ts'
import { load } from './load.ts'
import { measure } from './measure.ts'
import type { LargeOptions } from './options.ts'

const values = readOptions({
  dir: String,
  precision: 'int2',
  rows: 1_000_000,
  dimension: 768,
  seed: 1,
  queries: 100,
  ef: 128,
  'only-measure': false,
})
if (values.dir === undefined) throw new Error('--dir FOLDER is required')
const dir = join(values.dir, `${values.precision}-${values.rows}-${values.dimension}-seed${values.seed}`)
mkdirSync(dir, { recursive: true })
const options: LargeOptions = {
  dir,
  precision: values.precision as LargeOptions['precision'],
  rows: values.rows,
  dimension: values.dimension,
  seed: values.seed,
  queries: values.queries,
  ef: values.ef,
}
if (values['only-measure']) await measure(options)
else if (await load(options)) {
  const script = [fileURLToPath(import.meta.url), ...process.argv.slice(2), '--only-measure']
  const args = ['--max-semi-space-size=8', ...process.execArgv, ...script]
  const env = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072', ...process.env }
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1
}
