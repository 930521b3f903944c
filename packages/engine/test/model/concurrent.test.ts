// All calls concurrently (concurrent-calls.ts): without faults, with and without an archive; with worker threads that exit during their work;
// and with a disk that fails. Every call ends: it fulfills its promise or is rejected with a code that gives the reason. Afterwards a start
// has each collection unchanged if there were no faults, and a replay of the whole log always gives the same state. model.test.ts checks
// single results.
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
const lives = isLong ? 40 : 1
// A call that never ends shows as a test that does not end.
const timeout = lives * 240_000
const program = fileURLToPath(new URL('concurrent-lives.ts', import.meta.url))
const worlds = { sound: 1_000, archive: 500, 'lost-workers': 400, 'refusing-disk': 300 }

tap.setTimeout(4 * timeout)

for (const [world, calls] of Object.entries(worlds)) {
  test(`concurrent calls, ${world}, seed ${seed}`, { timeout }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-beside-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const args = [join(dir, 'data'), world, seed, lives, isLong ? 4 * calls : calls].map(String)
    const ran = promisify(execFile)(process.execPath, ['--conditions=annal-source', program, ...args], { timeout })
    const { stdout } = await ran
    t.equal(stdout.trim().split('\n').length, lives)
    t.comment(stdout)
  })
}
