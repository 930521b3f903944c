// A crash and a failing medium together. With TIP synced at every commit no damage passes for a tear; by default only the
// records of the newest sync can, as long as nothing after them has stamped them as durable.
import { test } from 'tap'
import { chosenSeed } from '../src/testing/index.ts'
import { damageKinds } from './damage.ts'
import { runHistories } from './many-histories.ts'
import { patient, sized } from './patience.ts'

const seed = chosenSeed()
const count = sized(20_000, 100_000)

/** A sector can hold the end of a record together with everything that stamps it, so harm to a sector may reach further back than harm to a bit. */
const reachesSector = new Set([
  'a zeroed sector',
  'two swapped sectors',
  'a sector as it was before its last bytes were written',
])

for (const kind of Object.keys(damageKinds)) {
  test(`${kind}: nothing is lost silently when TIP is synced at every commit`, patient, async (t) => {
    t.comment(`ANNAL_SEED=${seed}`)
    const tally = await runHistories(`${kind}, commit`, count, seed)
    t.comment(JSON.stringify(tally))
    t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
    t.equal(tally.whole + tally.refused, count)
  })

  test(`${kind}: by default only records of the newest sync can be taken for a tear`, patient, async (t) => {
    t.comment(`ANNAL_SEED=${seed}`)
    const tally = await runHistories(`${kind}, timer`, count, seed)
    t.comment(JSON.stringify(tally))
    t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
    t.ok(
      tally.lostStamped <= (reachesSector.has(kind) ? count / 200 : 0),
      'what a later record stamped is never lost silently',
    )
    t.ok(tally.refused > tally.lostNewest, 'most damage is found even so')
  })
}

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
