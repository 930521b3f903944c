// The process of model.test.ts. It is separate because the test runner watches every promise of its own thread, which slows an engine down
// several times. Arguments: directory, seed, runs. Prints one line with the number of runs and the minimal failure that fast-check found.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import fc from 'fast-check'
import { TestClock } from '../expiry/rig.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'
import type { Real } from './command.ts'
import { commands } from './commands.ts'
import { Model } from './lives.ts'

export interface Said {
  readonly runs: number
  /** Empty if there is no fault. */
  readonly fault: string
}

async function open(dir: string, pool: WorkerPool): Promise<Real & { end(): Promise<void> }> {
  await mkdir(dir, { recursive: true })
  const dataDir = join(dir, 'data')
  // With history, so that every moment is in reach.
  const clock = new TestClock()
  const options = { dataDir, threads: 1, keepLog: true, clock, archive: { maxAgeMs: 1e12, maxBytes: 1e12 } }
  const extras = { pool, deltas: eagerDeltas, expiryEveryMs: 5 }
  const real = {
    clock,
    engine: await openEngine(options, extras),
    async restart({ keepCheckpoints }: { readonly keepCheckpoints: boolean }) {
      await real.engine.close()
      if (!keepCheckpoints) await rm(join(dataDir, 'checkpoints'), { recursive: true, force: true })
      real.engine = await openEngine(options, extras)
    },
    async end() {
      await real.engine.close()
      await rm(dir, { recursive: true })
    },
  }
  return real
}

const [, , directory = '', seed, runs] = process.argv
// Shared, because threads are the slow part of opening an engine, and keep no state between two engines.
const pool = await openWorkerPool({ threads: 1 })
let opened = 0
const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 150, size: 'max' }), async (sequence) => {
  const real = await open(join(directory, `${opened++}`), pool)
  try {
    await fc.asyncModelRun(() => ({ model: new Model(real.clock), real }), sequence)
  } finally {
    await real.end()
  }
})
const found = await fc.check(property, { seed: Number(seed), numRuns: Number(runs), endOnFailure: false })
await pool.close()
const said: Said = {
  runs: found.numRuns,
  fault: found.failed ? `${fc.defaultReportMessage(found)}\n${found.errorInstance}` : '',
}
console.log(JSON.stringify(said))
