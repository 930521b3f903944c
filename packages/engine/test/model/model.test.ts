// The engine and a model of Maps and loops get the same calls in any order and must return the same results.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import type { Said } from './model-runs.ts'

const seed = chosenSeed()
const runs = Number(process.env.ANNAL_RUNS ?? (process.env.ANNAL_LONG ? 30_000 : 120))
const timeout = Math.max(3_600_000, runs * 4_000)

// The file may take as long as its runs.
tap.setTimeout(timeout)

test(`the engine behaves like the model, seed ${seed}, ${runs} runs`, { timeout }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-model-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const main = fileURLToPath(new URL('model-runs.ts', import.meta.url))
  const processes = Math.min(availableParallelism(), 4, runs)
  const said = await Promise.all(
    Array.from({ length: processes }, async (_, i): Promise<Said> => {
      const own = Math.floor((runs + i) / processes)
      const args = ['--conditions=annal-source', main, join(dir, `${i}`), String(seed + i), String(own)]
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout, maxBuffer: 64 * 1024 * 1024 })
      // Our child process prints one line.
      return JSON.parse(stdout)
    }),
  )
  for (const { fault } of said) t.equal(fault, '', `seed ${seed}`)
  t.equal(
    said.reduce((sum, one) => sum + one.runs, 0),
    runs,
    `${runs} runs, seed ${seed}`,
  )
})
