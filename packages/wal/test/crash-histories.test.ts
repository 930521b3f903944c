// Power cuts and kills at any call, with the policy `always`: no acknowledged record is lost, no record appears that
// was not issued, and no legal state of the disk is refused.
import { test } from 'tap'
import { chosenSeed } from '../src/testing/index.ts'
import { runHistories } from './many-histories.ts'
import { patient, sized } from './patience.ts'

const seed = chosenSeed()

test('with fsync=always no crash history loses, invents or refuses anything', patient, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const count = sized(3_000, 1_000_000, 50_000)
  const tally = await runHistories('always', count, seed)
  t.comment(JSON.stringify(tally))
  t.same(tally.examples, [], `ANNAL_SEED=${seed} repeats it`)
  t.equal(tally.whole, count)
})
