// The machine stops at a disk call of a short life, either by a kill, which keeps what was written, or by a power cut, which keeps what was
// synced. Then it stops up to three times during recovery. Afterwards the directory opens with everything that was acknowledged, and at
// most the one running step in addition. Every eighth call has its turn, beginning with one of the first eight by the seed. The long form
// stops at each call, in 20 lives.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import type { Tally } from './every-call-lives.ts'

const processes = 4
const long = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
/** One of so many calls has its turn. */
const callStep = long ? 1 : 8
const timeout = long ? 7_200_000 : 900_000
tap.setTimeout(timeout)

test(`a machine that stops at any disk call loses nothing, seed ${seed}`, { timeout }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-every-call-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const lives = fileURLToPath(new URL('every-call-lives.ts', import.meta.url))
  // Every stop leaves objects in the process, so several processes share the work, also on one processor.
  const tallies = await Promise.all(
    Array.from({ length: processes }, async (_, i): Promise<Tally> => {
      const numbers = [seed, long ? 20 : 1, callStep * i + (seed % callStep), callStep * processes].map(String)
      const args = ['--conditions=annal-source', lives, join(dir, `${i}`), ...numbers]
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout })
      // Our child process prints one line.
      return JSON.parse(stdout)
    }),
  )
  const [histories, stops] = [sum(tallies, 'histories'), sum(tallies, 'stops')]
  // The lives of the processes differ by a few calls.
  const calls = Math.min(...tallies.map((one) => one.calls))
  const faults = tallies.flatMap((one) => one.faults)
  t.strictSame(faults, [], `${histories} histories with ${stops} stops, seed ${seed}`)
  t.ok(calls > 100 && histories >= calls / callStep - processes && stops > histories, `${calls} calls, ${stops} stops`)
})

function sum(tallies: readonly Tally[], key: 'histories' | 'stops'): number {
  return tallies.reduce((total, one) => total + one[key], 0)
}
