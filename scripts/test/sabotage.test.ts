// Proves that the tests of the engine can fail: each planted bug is noticed by the test that must notice it, and without a bug that
// test passes in the same setting. A run takes the quickest of them; with ANNAL_LONG=1 all.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import tap, { test } from 'tap'
import { type PlantedBug, plantedBugs } from '../mutation/bugs.ts'
import { Runner, root } from '../mutation/runner.ts'

const isLong = process.env.ANNAL_LONG === '1'
tap.setTimeout(isLong ? 1_800_000 : 300_000)

/** One test file for each concern, all without an engine, in a quarter of a second each. */
const quickest = ['commit', 'recovery-records', 'replica/write-gate', 'replica/pins'].map(
  (name) => `packages/engine/test/${name}.test.ts`,
)

/** The source with the bug, or undefined when it can no longer be planted. */
function planted({ file, find, put }: PlantedBug): string | undefined {
  const source = readFileSync(path.join(root, file), 'utf8')
  return source.split(find).length === 2 ? source.replace(find, () => put) : undefined
}

const byTest = Map.groupBy(plantedBugs, ({ caughtBy }) => caughtBy)
for (const [caughtBy, bugs] of byTest) {
  if (!isLong && !quickest.includes(caughtBy)) continue
  const chosen = isLong ? bugs : bugs.slice(0, 1)
  test(`${caughtBy} passes when nothing is planted, and notices ${chosen.length} planted bugs`, async (t) => {
    const runner = new Runner([caughtBy])
    await runner.measure()
    for (const bug of chosen) {
      const source = planted(bug)
      if (source === undefined) t.fail(`the bug can no longer be planted: ${bug.name}`)
      else t.not(await runner.judge(bug.file, source), 'passed', `noticed: ${bug.name}`)
    }
  })
}

test('there are enough planted bugs, and each can be planted', async (t) => {
  t.ok(plantedBugs.length >= 20, `${plantedBugs.length} bugs`)
  t.strictSame(
    plantedBugs.filter((bug) => planted(bug) === undefined).map(({ name }) => name),
    [],
  )
})
