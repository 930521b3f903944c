// The kernel computes the same with any number of threads, in both builds, and in every supported version of Node.js, and every version computes
// the same state from a log. ANNAL_NODES=/path/to/node:/path/to/another names binaries of other versions; the long form installs 22, 24,
// and 26 if none are named. Each also runs the golden files, the comparisons with references, and the tests of readers.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { makeLog } from '../determinism/work.ts'
import { makeTextLog } from '../text/text-log.ts'

tap.setTimeout(7_200_000)

const run = promisify(execFile)
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const source = '--conditions=annal-source'
const threadCounts = [1, 2, 4, 8]
const golden = [
  '../memory/golden.test.ts',
  '../snapshot/golden-directory.test.ts',
  '../vector/sparse-golden.test.ts',
  'reference.test.ts',
  'walk.test.ts',
  'filtered.test.ts',
  'equal-keys.test.ts',
  '../text/digest.test.ts',
  '../upgrade/upgrade.test.ts',
]

interface Results {
  readonly node: string
  readonly best: string
  readonly runs: readonly {
    readonly build: string
    readonly threads: number
    readonly results: Readonly<Record<string, string>>
  }[]
}

/** Options of V8 that stand for older processors: none with AVX, and one with AVX without what came later. */
const processors = process.arch === 'x64' ? [['--no-enable-avx'], ['--no-enable-avx2', '--no-enable-fma3']] : []

async function resultsOf(node: string, options: readonly string[] = [], threads = threadCounts): Promise<Results> {
  const args = [...options, source, here('results-once.ts'), threads.join()]
  const { stdout } = await run(node, args, { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout) as Results
}

const own = resultsOf(process.execPath)

test('both builds give the same result for every precision and metric with 1, 2, 4, and 8 threads', async (t) => {
  const { runs, best, node } = await own
  t.comment(`${node} runs the ${best} build by default`)
  t.equal(runs.length, threadCounts.length * (best === 'plain' ? 1 : 2))
  const [first] = runs
  t.equal(Object.keys(first?.results ?? {}).length, 21)
  t.match(first?.results['int8 l2'], /heads [1-9]/)
  for (const { build, threads, results } of runs) t.strictSame(results, first?.results, `${build}, ${threads} threads`)
})

/** The digests that a version of Node.js computes when it replays a copy of the whole log. */
async function replayDigests(node: string, dataDir: string, threads: number, isPlain: boolean): Promise<string> {
  const copy = `${dataDir}-copy`
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'checkpoints'), { recursive: true })
  const options = isPlain ? [source, '--import', here('plain-build.ts')] : [source]
  const args = [...options, here('../determinism/replay-once.ts'), copy, String(threads), '65536']
  const { stdout } = await run(node, args)
  await rm(copy, { recursive: true })
  return (JSON.parse(stdout) as { readonly digests: string }).digests
}

async function installNode(t: Test, version: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), `annal-node-${version}-`))
  t.teardown(() => rm(dir, { recursive: true }))
  // Its install script copies the binary.
  await writeFile(join(dir, 'package.json'), '{"private":true,"allowScripts":{"node":true}}')
  await run('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], { cwd: dir })
  return join(dir, 'node_modules', '.bin', 'node')
}

const named = process.env.ANNAL_NODES?.split(':').filter((path) => path !== '')
const isLong = process.env.ANNAL_LONG === '1'
const skip = named === undefined && !isLong && 'ANNAL_NODES names other versions, ANNAL_LONG=1 downloads them'

for (const one of named ?? ['22', '24', '26'])
  test(`Node.js ${one} computes the same as this version, the golden files, and the references`, {
    skip,
  }, async (t) => {
    const node = named === undefined ? await installNode(t, one) : one
    const results = await resultsOf(node)
    t.comment(`${results.node}, ${results.best} build`)
    const expected = (await own).runs[0]?.results
    for (const { build, threads, results: found } of results.runs)
      t.strictSame(found, expected, `${build}, ${threads} threads`)
    for (const options of processors)
      for (const { build, results: found } of (await resultsOf(node, options, [2])).runs)
        t.strictSame(found, expected, `${build}, ${options.join(' ')}`)
    const dir = await mkdtemp(join(tmpdir(), 'annal-node-log-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const made = await makeLog(dir, { random: seededRandom(3), records: 600, checkpoints: 1 })
    for (const isPlain of [false, true])
      for (const threads of threadCounts) {
        const digests = await replayDigests(node, join(dir, 'data'), threads, isPlain)
        t.equal(digests, made.digests, `a log, ${isPlain ? 'plain' : results.best}, ${threads} threads`)
      }
    const texts = await makeTextLog(join(dir, 'texts'))
    await rm(join(dir, 'texts', 'checkpoints'), { recursive: true, force: true })
    const { stdout } = await run(node, [source, here('../text/text-log.ts'), join(dir, 'texts')])
    t.equal(stdout.trim(), texts, 'a log of texts')
    const readers = (await readdir(here('../readers'))).filter((file) => file.endsWith('.test.ts'))
    for (const file of [...golden, ...readers.map((name) => `../readers/${name}`)]) {
      // A failure rejects with the output.
      const { stdout } = await run(node, [source, here(file)], { maxBuffer: 2 ** 26 })
      t.match(stdout, /^# \{ total: [1-9]|^1\.\.[1-9]/m, file)
    }
  })
