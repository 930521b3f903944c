// Many objects deleted at once do not overflow the stack: hundreds of thousands of ordinals wait for reuse, in memory, in a checkpoint, and
// after a start.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const count = 150_000
const fields = [{ name: 's', type: 'sparse', params: {} }] as const
const value = (n: number) => ({ s: { indices: [n % 97], values: [1] } })

test(`deleting ${count} objects in one call works, and so do the next checkpoint and start`, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-many-deletes-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const engine = await openEngine({ dataDir: dir, threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'c', fields })
  // No automatic vacuum follows within a minute, so the deleted rows stay.
  await collection.vacuum()
  for (let from = 0; from < count; from += 1_000)
    await collection.upsert(
      Array.from({ length: 1_000 }, (_, i) => ({
        id: `${from + i}`,
        filter: { gone: true },
        fields: value(i),
      })),
    )
  t.equal((await collection.deleteWhere([{ gone: { $eq: true } }])).deleted, count)
  await engine.checkpoint()
  // Ordinals wait for sixteen versions before they are free.
  for (let i = 0; i < 20; i++) await collection.upsert([{ id: `kept-${i}`, fields: value(i) }])
  await engine.checkpoint()
  t.equal(engine.health().status, 'ok')
  const digest = collection.stateDigest()
  await engine.close()
  const again = await openEngine({ dataDir: dir, threads: 1 })
  t.equal(again.database().collection('c').stateDigest(), digest)
  t.equal(again.database().collection('c').describe().objects, 20)
  await again.close()
})
