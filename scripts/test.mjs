// `npm test`: installs, builds, checks, then runs every test file, or the files given. The last line is
// `N passed, N failed`, where N counts named tests (the blocks directly in a file); the exit code is zero when none failed.
//
// In a whole run, a file that failed beside the others is run once more alone, with the same seed. When it passes then, what failed was the
// machine's timing or a test that leans on it: it is printed, and named as unsteady at the end. Tests of what must hold under any timing get no
// second run.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { bin, ensureInstalled, root, run, runMain, turbo } from './setup.mjs'
import { tapCounter } from './tap-counter.mjs'

const noSecondRun = /packages\/wal\/|engine\/test\/crash\/|kill-loop|power-cut/

runMain(async (args) => {
  await ensureInstalled()
  await turbo('build')
  const files = args.length > 0 ? args : testFiles()
  const checked = args.length > 0 || (await check())
  process.env.ANNAL_SEED ??= String((Date.now() % 1_000_000_000) + 1)
  const tests = await runTap(files)
  const unsteady = args.length > 0 ? [] : await runAgain(tests)
  const failed = tests.failed + (checked ? 0 : 1)
  if (!checked) console.log('\nnpm run check failed, which counts as one failed test; its output is at the top')
  for (const name of unsteady)
    console.log(`\nunsteady: ${name} failed beside other tests, as printed above, and passed alone`)
  if (tests.skipped > 0) console.log(`\n${tests.skipped} skipped; each says why above`)
  console.log(`${tests.passed} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
})

async function check() {
  console.log('annal: npm run check')
  return (await run('npm', ['run', '--silent', 'check'], { cwd: root })) === 0
}

/** Runs files that failed once more, one by one, and corrects `tests`; returns the names of those that passed now. */
async function runAgain(tests) {
  const unsteady = []
  const again = tests.failedFiles.filter(
    (file) => !noSecondRun.test(file.name) && existsSync(path.join(root, file.name)),
  )
  if (again.length > 5) return unsteady // So many are no accident.
  for (const before of again) {
    const now = await runTap([before.name])
    if (now.failed > 0) continue
    for (const kind of ['passed', 'failed', 'skipped']) tests[kind] += now[kind] - before[kind]
    unsteady.push(before.name)
  }
  return unsteady
}

async function runTap(files) {
  console.log(`annal: ${files.length} test files`)
  await run(path.join(bin, 'tap'), ['build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  const counter = tapCounter((line) => console.log(line))
  const code = await run(path.join(bin, 'tap'), ['run', '--reporter=tap', ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    onChild: (child) => createInterface({ input: child.stdout }).on('line', counter.line),
  })
  return counter.result(code)
}

/** packages/<name>/test/<anything>.test.ts, those of docker/, benchmarks/, docs/ and of these scripts, in an order that no file system decides. */
function testFiles() {
  const found = [path.join('scripts', 'test', 'tap-counter.test.mjs')]
  const folders = readdirSync(path.join(root, 'packages')).map((name) => path.join('packages', name, 'test'))
  for (const folder of [...folders, ...['docker', 'benchmarks', 'docs'].map((name) => path.join(name, 'test'))]) {
    for (const entry of filesBelow(folder)) if (entry.endsWith('.test.ts')) found.push(path.join(folder, entry))
  }
  return found.sort()
}

function filesBelow(folder) {
  try {
    return readdirSync(path.join(root, folder), { recursive: true })
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}
