import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'

test('a program that only waits for the engine stays alive until it gets its result, and exits when the engine is closed', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-alive-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const program = fileURLToPath(new URL('alive-program.ts', import.meta.url))
  const args = ['--conditions=annal-source', program, join(dir, 'data')]
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  t.equal(stdout, 'all answered\n')
})
