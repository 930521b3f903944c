// A search that starts after a write was acknowledged sees it, on any thread.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { openDirectory } from '../search/rig.ts'

tap.setTimeout(300_000)
const writes = process.env.ANNAL_LONG === '1' ? 10_000 : 300

test('two readers see each acknowledged write at once', async (t) => {
  const program = fileURLToPath(new URL('./own-writes-program.ts', import.meta.url))
  const args = ['--conditions=annal-source', program, await openDirectory(t), `${writes}`]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  t.same(JSON.parse(stdout), { writes, faults: [] })
})
