// The machine stops at a call to the disk, every call of a short life in turn, by a kill that leaves what was written or by a
// power cut that leaves what was synced; then it stops again, up to three times, while it recovers. Afterwards the directory
// opens and holds what was acknowledged, and at most the one step under way besides.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'
import type { Tally } from './every-call-lives.ts'

const long = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const timeout = long ? 7_200_000 : 900_000
tap.setTimeout(timeout)

test(`a machine that stops at any call to the disk loses nothing, seed ${seed}`, { timeout }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-every-call-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const lives = fileURLToPath(new URL('every-call-lives.ts', import.meta.url))
  const args = ['--conditions=annal-source', lives, dir, String(seed), long ? '20' : '1']
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout })
  // The child is ours and says one line.
  const { histories, stops, calls, faults } = JSON.parse(stdout) as Tally
  t.strictSame(faults, [], `${histories} histories with ${stops} stops, seed ${seed}`)
  t.ok(calls > 100 && histories > calls && stops > histories, `${calls} calls in a life, ${stops} stops`)
})
