import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'

// A program whose only business is to wait for answers: nothing else keeps it alive.
const program = `
import { openEngine } from '@annal/engine'
const engine = await openEngine({ dataDir: process.argv[1], threads: 1 })
const fields = [{ name: 'v', type: 'vector', params: { dimension: 64, space_type: 'l2', precision: 'float32' } }]
const collection = await engine.database().createCollection({ name: 'c', fields })
const vector = (n) => Array.from({ length: 64 }, (_, i) => Math.sin(n * (i + 1)))
for (let n = 0; n < 4000; n += 1000)
  await collection.upsert(Array.from({ length: 1000 }, (_, i) => ({ id: String(n + i), fields: { v: vector(n + i) } })))
for (let i = 0; i < 300; i++) await collection.search({ fields: { v: { query: vector(i), limit: 10, ef: 1000 } } })
await collection.rebuild()
await engine.close()
console.log('all answered')
`

test('a program that only waits for the engine lives until it is answered, and ends when the engine is closed', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-alive-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const args = ['--conditions=annal-source', '--input-type=module', '-e', program, join(dir, 'data')]
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, cwd: new URL('..', import.meta.url) })
  t.equal(stdout, 'all answered\n')
})
