// The kernel computes the same in every supported version of Node.js and in both builds, and every version computes the same state from a
// log. The long form installs the other versions and runs the golden files and the comparison with the reference in each.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { makeLog } from '../determinism/work.ts'

tap.setTimeout(3_600_000)

const run = promisify(execFile)
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const tests = [
  '../memory/golden.test.ts',
  '../snapshot/golden-directory.test.ts',
  '../vector/sparse-golden.test.ts',
  'reference.test.ts',
]

interface Results {
  readonly node: string
  readonly best: string
  readonly kernel: Readonly<Record<string, Readonly<Record<string, string>>>>
}

async function resultsOf(node: string): Promise<Results> {
  const { stdout } = await run(node, ['--conditions=annal-source', here('results-once.ts')])
  return JSON.parse(stdout) as Results
}

const own = resultsOf(process.execPath)

test('both builds give the same result for every precision and metric', async (t) => {
  const { kernel, best, node } = await own
  t.comment(`${node} runs the ${best} build by default`)
  t.equal(Object.keys(kernel.plain ?? {}).length, 21)
  for (const results of Object.values(kernel)) t.strictSame(results, kernel.plain)
})

/** The digests that a version of Node.js computes when it replays a copy of the whole log. */
async function replayDigests(node: string, dataDir: string): Promise<string> {
  const copy = `${dataDir}-copy`
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'checkpoints'), { recursive: true })
  const args = ['--conditions=annal-source', here('../determinism/replay-once.ts'), copy, '2', '65536']
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

for (const version of ['22', '24', '26'])
  test(`Node.js ${version} computes the same as this version, the golden files, and the reference`, {
    skip: process.env.ANNAL_LONG === '1' ? false : 'downloads another Node.js; set ANNAL_LONG=1',
  }, async (t) => {
    const node = await installNode(t, version)
    const results = await resultsOf(node)
    t.match(results.node, `v${version}.`)
    t.comment(`${results.node}, ${results.best} build`)
    const { kernel } = await own
    t.strictSame(results.kernel.plain, kernel.plain)
    t.strictSame(results.kernel[results.best], kernel.plain)
    const dir = await mkdtemp(join(tmpdir(), 'annal-node-log-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const made = await makeLog(dir, { random: seededRandom(3), records: 600, checkpoints: 1 })
    t.equal(await replayDigests(node, join(dir, 'data')), made.digests)
    for (const file of tests) {
      const { stdout } = await run(node, ['--conditions=annal-source', here(file)], { maxBuffer: 2 ** 26 })
      t.notMatch(stdout, /^not ok/m, file)
      t.match(stdout, /^# \{ total: [1-9]|^1\.\.[1-9]/m, file)
    }
  })
