import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { chosenSeed } from '@annal/wal/testing'
import fc from 'fast-check'
import tap, { test } from 'tap'
import type { Real } from './command.ts'
import { commands } from './commands.ts'
import { Model } from './model.ts'

const seed = chosenSeed()
const runs = Number(process.env.ANNAL_RUNS ?? (process.env.ANNAL_LONG ? 30_000 : 300))

// The file as a whole may take as long as its runs.
tap.setTimeout(3_600_000)

async function open(pool: WorkerPool): Promise<Real & { end(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-model-'))
  const dataDir = join(dir, 'data')
  const options = { dataDir, threads: 1, keepLog: true }
  const real = {
    engine: await openEngine(options, { pool }),
    async restart({ keepCheckpoints }: { readonly keepCheckpoints: boolean }) {
      await real.engine.close()
      if (!keepCheckpoints) await rm(join(dataDir, 'checkpoints'), { recursive: true, force: true })
      real.engine = await openEngine(options, { pool })
    },
    async end() {
      await real.engine.close()
      await rm(dir, { recursive: true })
    },
  }
  return real
}

test(`the engine does what the model does, seed ${seed}, ${runs} runs`, { timeout: 3_600_000 }, async (t) => {
  // Threads are the slow part of opening an engine, and keep nothing between two of them.
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 150, size: 'max' }), async (sequence) => {
    const real = await open(pool)
    try {
      await fc.asyncModelRun(() => ({ model: new Model(), real }), sequence)
    } finally {
      await real.end()
    }
  })
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: false })
  t.pass(`${runs} runs, seed ${seed}`)
})
