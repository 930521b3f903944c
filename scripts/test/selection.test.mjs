// What a change can affect: through imports, through programs and workers that a test starts, through files it reads.
import { test } from 'tap'
import { allTestFiles, fastTestFiles } from '../testing/files.mjs'
import { affectedTests, openGraph } from '../testing/graph.mjs'
import { traitsOf } from '../testing/traits.mjs'

const graph = openGraph()
const files = allTestFiles()

function affected(...changed) {
  return affectedTests(graph, files, changed).tests
}

test('a source affects the tests that import it, through other packages too', async (t) => {
  const tests = affected('packages/wal/src/clock.ts')
  for (const file of ['packages/wal/test/file-log.test.ts', 'packages/engine/test/engine.test.ts'])
    t.ok(tests.includes(file), file)
  t.notOk(tests.includes('scripts/test/tap-counter.test.mjs'), 'and no others')
})

test('a program, a worker and a helper affect the tests that start or import them', async (t) => {
  const program = affected('packages/engine/test/crash/failpoint-life.ts')
  t.ok(program.includes('packages/engine/test/crash/failpoints.test.ts'))
  t.notOk(program.includes('packages/engine/test/engine.test.ts'))
  t.ok(affected('packages/engine/src/worker.ts').includes('packages/engine/test/vector/worker-loss.test.ts'))
  t.ok(affected('packages/server/src/main.ts').includes('packages/server/test/kill-loop.test.ts'), 'started')
  t.ok(affected('packages/server/src/main.ts').includes('packages/client/test/suite.test.ts'), 'from another package')
})

test('files that are not code affect the tests that name them', async (t) => {
  t.ok(affected('packages/engine/assembly/index.ts').includes('packages/engine/test/vector/dense-field.test.ts'))
  const golden = [...graph.files].find((file) => file.startsWith('packages/wal/test/golden/'))
  t.ok(affected(golden).includes('packages/wal/test/golden.test.ts'))
  t.ok(affected('docs/reference/errors.md').includes('packages/dashboard/test/logic.test.ts'))
  t.ok(affected('docs/guide/backup-and-restore.md').includes('packages/cli/test/backup-guide.test.ts'))
})

test('what nobody names affects all of its package, and settings all that use it', async (t) => {
  const unnamed = affected('packages/wal/test/unheard-of.bin')
  for (const file of files) if (file.startsWith('packages/wal/test/')) t.ok(unnamed.includes(file), file)
  t.ok(affected('packages/client-python/src/annal/client.py').includes('packages/client-python/test/python.test.ts'))
  t.ok(affected('packages/engine/package.json').includes('packages/server/test/databases.test.ts'))
  for (const file of ['package-lock.json', 'scripts/testing/run-files.mjs', 'unheard-of/file.bin'])
    t.same(affected(file), files, file)
})

test('a test affects itself, and prose that no test reads affects none', async (t) => {
  const tests = affected('packages/wal/test/tip.test.ts', 'LICENSE').filter((file) => !file.startsWith('scripts/'))
  t.same(tests, ['packages/wal/test/tip.test.ts'])
})

test('the fast loop starts no process', async (t) => {
  const fast = fastTestFiles()
  t.ok(fast.length > 80, `${fast.length} of ${files.length} files`)
  for (const file of ['server/test/kill-loop', 'dashboard/test/clicking', 'engine/test/crash/failpoints'])
    t.notOk(fast.includes(`packages/${file}.test.ts`), file)
})

test('traits are seen in helpers and in sources', async (t) => {
  t.ok(traitsOf(graph, 'packages/server/test/kill-loop.test.ts').has('processes'))
  t.ok(traitsOf(graph, 'packages/engine/test/backup/clone.test.ts').has('random'))
  t.ok(traitsOf(graph, 'packages/engine/test/engine.test.ts').has('threads'))
  t.same([...traitsOf(graph, 'packages/engine/test/filter/timestamp.test.ts')], [])
})
