// A worker that loops during a write is terminated, the write is rejected, and the engine stops, because the progress of the write is
// unknown. The next start rebuilds the field from the log with everything that was acknowledged.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openEngine } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(600_000)

test('a stuck job is terminated, and no acknowledged write is lost', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-stuck-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  const { NODE_OPTIONS: _, ...rest } = process.env
  const env = { ...rest, STUCK_FROM: join(dir, 'stuck') }
  const files = ['stuck-kernel.ts', 'stuck-life.ts'].map((file) => new URL(file, import.meta.url))
  const [hook, life] = files as [URL, URL]
  const args = ['--conditions=annal-source', '--import', hook.href, fileURLToPath(life), dataDir]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  const report = JSON.parse(stdout) as { acknowledged: number; refused: string; status: string }
  t.equal(report.status, 'failed')
  t.ok(report.refused, `the write was refused: ${report.refused}`)

  const engine = await openEngine({ dataDir, threads: 2 })
  const collection = engine.database().collection('c')
  const ids = Array.from({ length: report.acknowledged }, (_, i) => String(i))
  const found = await collection.getMany(ids)
  t.equal(found.length, report.acknowledged)
  const { results } = await collection.search({ fields: { v: { query: { id: '7' }, limit: 10 } } })
  t.equal(results.v?.length, 10)
  await engine.close()
})
