// Crash histories under the policies that acknowledge before the sync: synced records survive, and the rest is a
// prefix.
import { test } from 'tap'
import { chosenSeed } from '../src/testing/index.ts'
import { runHistories } from './many-histories.ts'
import { patient, sized } from './patience.ts'

const seed = chosenSeed()

for (const fsync of ['interval', 'none']) {
  test(
    `with fsync=${fsync} no crash history loses what a sync covered, invents or refuses anything`,
    patient,
    async (t) => {
      t.comment(`ANNAL_SEED=${seed}`)
      const count = sized(1_500, 500_000, 25_000)
      const tally = await runHistories(fsync, count, seed)
      t.comment(JSON.stringify(tally))
      t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
      t.equal(tally.whole, count)
    },
  )
}
