// `npm run demo`, small: a full run with a load, a crash and a recovery passes all its checks.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'

const demo = fileURLToPath(new URL('../../../benchmarks/src/demo/main.ts', import.meta.url))

test('the quick demo loads, searches, restarts, is killed, and loses nothing', async (t) => {
  const report = path.join(t.testdir(), 'figures.json')
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=annal-source',
    demo,
    '--quick',
    '--json',
    report,
  ])
  t.match(stdout, 'seed 1')
  t.match(stdout, '0 lost, 0 phantom')
  const { figures, verdicts } = JSON.parse(readFileSync(report, 'utf8'))
  t.ok(verdicts.every(({ ok }: { readonly ok: boolean }) => ok))
  t.match(figures, { vectors: 3_000, crash: { lost: 0, phantom: 0, torn: 0 } })
  t.ok(figures.crash.acknowledged > 3_000, 'the kill came in the middle of the second load')
})
