// The suites of logs over simulated stores: with a calm network and with one that loses, repeats, and delays.
import { test } from 'tap'
import { openReplicatedLog } from '../../src/replicated/replicated-log.ts'
import {
  calmNetwork,
  logSuite,
  ManualClock,
  pump,
  replicatedLogSuite,
  roughNetwork,
  SimFrameStore,
  seededRandom,
} from '../../src/testing/index.ts'
import { patient } from '../patience.ts'

const networks = { calm: calmNetwork, rough: roughNetwork }

for (const [network, faults] of Object.entries(networks)) {
  for (const { name, run } of logSuite) {
    test(`over a ${network} network: ${name}`, patient, async (t) => {
      const { sim, clock } = simulated(t, 4096)
      sim.faults = faults
      let epoch = 0
      await run(async () => {
        const log = await openReplicatedLog({ store: sim.connect(), logId: 7n, writer: Buffer.alloc(16, 1), clock })
        await log.lead(++epoch)
        return log
      })
    })
  }
  for (const { name, run } of replicatedLogSuite) {
    test(`over a ${network} network: ${name}`, patient, async (t) => {
      const { sim, clock } = simulated(t, 1024)
      sim.faults = faults
      await run({ clock, connect: () => Promise.resolve(sim.connect()) })
    })
  }
}

function simulated(t: { teardown(fn: () => void): void }, messageBytesMax: number) {
  const sim = new SimFrameStore({ random: seededRandom(1), messageBytesMax })
  const clock = new ManualClock()
  t.teardown(pump(sim, clock))
  return { sim, clock }
}
