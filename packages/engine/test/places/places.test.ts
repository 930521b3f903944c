// Missing and swapped files: every kind of file, deleted, cut, swapped with another of its kind, or replaced by an older copy or by one of
// another directory. Afterwards everything is read correctly or rejected with a code, no error below the directory is a bare error of the
// operating system, a second start finds what the first one left, and `verify` detects the fault in advance.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeVfs } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'
import { applyFault, chosen, type Fault, faultsOf, filesIn, kindOf, kinds, type Way } from './faults.ts'
import { judge, withoutSync } from './judge.ts'
import { copyTree, makeWorld } from './world.ts'

tap.setTimeout(1_200_000)

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
/** Cases for each fault and kind of file, and the number of kinds, which the seed selects. */
const casesMax = Number(process.env.ANNAL_CASES ?? (isLong ? 12 : 1))
const kindsMax = isLong || process.env.ANNAL_CASES !== undefined ? kinds.length : 6
/** Kinds whose names match; all of them by default. */
const kindsWanted = new RegExp(process.env.ANNAL_KINDS ?? '')
const ways: readonly Way[] = ['deleted', 'cut', 'swapped', 'older', 'foreign']
/** The number of ways, which the seed selects. */
const waysMax = isLong || process.env.ANNAL_CASES !== undefined ? ways.length : 4

test(`missing and swapped files (ANNAL_SEED=${seed})`, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'annal-places-'))
  t.teardown(() => rm(root, { recursive: true }))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const parts = { pool, vfs: withoutSync(nodeVfs()), deltas: eagerDeltas }
  const world = await makeWorld(join(root, 'one'), seed, parts)
  const other = await makeWorld(join(root, 'two'), seed + 1, parts)
  const random = seededRandom(seed)
  const files = filesIn(world.dir)
  const tally = new Map<string, number>()
  for (const way of chosen(ways, waysMax, random)) {
    const all = faultsOf(way, { dir: world.dir, older: world.older, foreign: other.dir })
    for (const [kind] of chosen(kinds, kindsMax, random)) {
      if (!kindsWanted.test(kind)) continue
      const cases = chosen(
        all.filter((fault) => fault.kind === kind),
        casesMax,
        random,
      )
      t.ok(
        cases.length > 0 ||
          (way === 'swapped' && files.filter((file) => kindOf(file) === kind).length < 2) ||
          way === 'older',
        `${kind} can be ${way}`,
      )
      for (const fault of cases) {
        const copy = join(root, 'copy')
        await copyTree(world.dir, copy)
        if (!applyFault(copy, world.dir, fault)) continue
        const looksBack = /backup|archive/.test(fault.kind)
        const judged = await judge(copy, world, { parts, scratchDir: root, looksBack })
        const key = `${way}: ${judged.outcome}`
        tally.set(key, (tally.get(key) ?? 0) + 1)
        for (const sentence of judged.faults) t.fail(`${nameOf(fault, root)}: ${judged.outcome}: ${sentence}`)
      }
    }
  }
  t.comment(JSON.stringify(Object.fromEntries([...tally].sort())))
  t.ok(tally.size > 0)
})

function nameOf({ way, reach, file, bytes }: Fault, root: string): string {
  return `${file} (${reach}) ${way}${bytes === undefined ? '' : ` with ${bytes.slice(root.length + 1)}`}`
}
