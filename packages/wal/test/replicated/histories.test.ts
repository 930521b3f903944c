// Random histories of replicated logs: nothing that was acknowledged is lost, nothing is there twice, and all nodes agree.
import { test } from 'tap'
import { chosenSeed } from '../../src/testing/index.ts'
import { patient, sized } from '../patience.ts'
import { runHistory } from './histories.ts'

test('acknowledged records are in the log once, at their LSN, on every node', patient, async (t) => {
  const seed = chosenSeed()
  const count = sized(1_500, 200_000, 20_000)
  t.comment(`ANNAL_SEED=${seed}, ${count} histories`)
  const total = { acknowledged: 0, refused: 0, leaders: 0, truncations: 0, trimmed: 0, loaded: 0 }
  for (let n = 0; n < count; n++) {
    const report = await runHistory((seed + n * 7919) % 2_000_000_000)
    total.acknowledged += report.acknowledged
    total.refused += report.refused
    total.leaders += report.leaders
    total.truncations += report.truncations
    total.trimmed += report.trimmed
    total.loaded += report.loaded
  }
  t.comment(JSON.stringify(total))
  t.ok(total.acknowledged > count, 'records were acknowledged')
  t.ok(total.leaders > count, 'leaders changed')
  t.ok(total.trimmed > 0, 'messages were trimmed')
  t.ok(total.loaded > 0, 'nodes began with snapshots')
})
