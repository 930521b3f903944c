// Random damage: a directory with everything in it gets one to three random faults anywhere. Afterwards it serves exactly what was
// acknowledged, or says what is damaged and serves the rest exactly. `ANNAL_ROUNDS` sets the number of directories, `ANNAL_ONLY=i`
// repeats one of them, and `ANNAL_DAMAGE=text` chooses damages by name.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeVfs } from '@annal/wal'
import { seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'
import { judge, withoutSync } from './judge.ts'
import { damageSomething } from './random-damage.ts'
import { makeRichWorld } from './rich-world.ts'
import { copyTree } from './world.ts'

/** A fixed one by default: a new seed is a campaign, whose findings are to be judged. */
const seed = Number(process.env.ANNAL_SEED ?? 20261129)
const rounds = Number(process.env.ANNAL_ROUNDS ?? (process.env.ANNAL_LONG === '1' ? 500 : 6))
const only = process.env.ANNAL_ONLY === undefined ? undefined : Number(process.env.ANNAL_ONLY)
/** A pool keeps the memories of engines that were closed, so it is replaced sometimes. */
const roundsPerPool = 40
/** No start may hang. */
const roundMsMax = 120_000

tap.setTimeout(600_000 + rounds * roundMsMax)

test(`random damage is named or without effect (ANNAL_SEED=${seed})`, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'annal-damage-'))
  t.teardown(() => rm(root, { recursive: true }))
  let pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const parts = () => ({ pool, vfs: withoutSync(nodeVfs()), deltas: eagerDeltas })
  const world = await makeRichWorld(join(root, 'one'), seed, parts())
  const other = await makeRichWorld(join(root, 'two'), seed + 1, parts())
  const copy = join(root, 'copy')
  const tally = new Map<string, number>()
  for (let round = only ?? 0; round < (only === undefined ? rounds : only + 1); round++) {
    if (round % roundsPerPool === roundsPerPool - 1) {
      await pool.close()
      pool = await openWorkerPool({ threads: 1 })
    }
    const random = seededRandom(seed * 1_000 + round)
    await copyTree(world.dir, copy)
    const sources = { copy, older: world.older, foreign: other.dir }
    const damaged = [damageSomething(sources, random, process.env.ANNAL_DAMAGE)]
    while (damaged.length < 3 && random.chance(0.25)) damaged.push(damageSomething(sources, random))
    // A whole backup may come from another directory, or be removed by hand.
    const isMoved = damaged.some(({ what }) => /^folder (of .*|deleted): backups\//.test(what))
    const looksBack = !isMoved && damaged.some(({ file }) => /^(backups|archive)/.test(file))
    // The system cannot read it as a file, which is no damage of the log.
    const alsoRefused = damaged.some(({ what }) => what.startsWith('a folder in its place: ')) ? 'log_failed' : ''
    const readsFind = damaged.some(({ file }) => file.endsWith('.f32'))
    const work = { parts: parts(), scratchDir: root, looksBack, alsoRefused, readsFind }
    const judged = await judge(copy, world, work)
    tally.set(judged.outcome, (tally.get(judged.outcome) ?? 0) + 1)
    const what = damaged.map((one) => one.what).join('; ')
    for (const sentence of judged.faults) t.fail(`round ${round}: ${what}: ${judged.outcome}: ${sentence}`)
    if (only !== undefined) t.comment(`${what}: ${judged.outcome}`)
  }
  t.comment(JSON.stringify(Object.fromEntries([...tally].sort())))
  t.ok(tally.size > 0)
})
