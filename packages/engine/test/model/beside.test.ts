// Everything that can be asked, beside everything else (beside-calls.ts): on a sound machine with and without an archive, while worker
// threads end in the middle of their work, and while the disk refuses what is asked of it. Every call ends: with what it promises,
// or refused by a code that says why. Afterwards a start has each collection as it was, where nothing failed, and a replay of the
// whole log makes the same of it, whatever failed. Single answers are the matter of model.test.ts.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chosenSeed } from '@annal/wal/testing'
import tap, { test } from 'tap'

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
const lives = isLong ? 40 : 2
// A call that never ends shows as a test that does not.
const timeout = lives * 240_000
const program = fileURLToPath(new URL('beside-lives.ts', import.meta.url))
const worlds = { sound: 1_000, archive: 500, 'lost-workers': 400, 'refusing-disk': 300 }

tap.setTimeout(4 * timeout)

for (const [world, calls] of Object.entries(worlds)) {
  test(`calls beside calls, ${world}, seed ${seed}`, { timeout }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-beside-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const args = [join(dir, 'data'), world, seed, lives, isLong ? 4 * calls : calls].map(String)
    const ran = promisify(execFile)(process.execPath, ['--conditions=annal-source', program, ...args], { timeout })
    const { stdout } = await ran
    t.equal(stdout.trim().split('\n').length, lives)
    t.comment(stdout)
  })
}
