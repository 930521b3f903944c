// A crash together with a failing medium. With TIP synced at every commit no damage passes for a torn write. By default
// only the records of the newest sync can, as long as no later record has stamped them as durable.
import { test } from 'tap'
import { chosenSeed } from '../src/testing/index.ts'
import { damageKinds } from './damage.ts'
import { runHarmed, runHistories } from './many-histories.ts'
import { patient, sized } from './patience.ts'

const seed = chosenSeed()
const count = sized(1_000, 100_000, 20_000)

/** Statements about frequency need enough samples. */
const countJudged = Math.max(count, 2_000)

/**
 * One sector can hold the end of a record and everything that stamps it, so a damaged sector may reach further back
 * than a flipped bit.
 */
const reachesSector = new Set([
  'a zeroed sector',
  'two swapped sectors',
  'a sector from before its last bytes were written',
])

test('by default only records of the newest sync can be mistaken for a torn write', patient, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const tallies = await runHarmed('damage, TIP synced now and then', countJudged, seed)
  for (const [kind, tally] of Object.entries(tallies)) {
    t.comment(`${kind}: ${JSON.stringify(tally)}`)
    t.same(tally.examples, [], `${kind}: ANNAL_SEED=${seed} repeats it`)
    t.ok(
      tally.lostStamped <= (reachesSector.has(kind) ? countJudged / 200 : 0),
      `${kind}: a record that a later one stamped is never lost silently`,
    )
    t.ok(tally.refused > tally.lostNewest, `${kind}: most damage is found even so`)
  }
  t.strictSame(Object.keys(tallies), Object.keys(damageKinds))
})

test('nothing is lost silently when TIP is synced at every commit', patient, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const tallies = await runHarmed('damage, TIP synced at every commit', count, seed)
  for (const kind of Object.keys(damageKinds)) {
    const tally = tallies[kind]
    t.comment(`${kind}: ${JSON.stringify(tally)}`)
    t.same(tally?.examples, [], `${kind}: ANNAL_SEED=${seed} repeats it`)
    t.equal((tally?.whole ?? 0) + (tally?.refused ?? 0), count, kind)
  }
})

test('an older TIP is harmless', patient, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const tally = await runHistories('older TIP', count, seed)
  t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
})

test('a whole older directory starts with what it held', patient, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const tally = await runHistories('older directory', count, seed)
  t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
})
