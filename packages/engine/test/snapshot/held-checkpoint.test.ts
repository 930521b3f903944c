// A checkpoint that is held for a copy elsewhere has every file of the checkpoint, also the request keys that belong to no collection.
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { holdCheckpoint, newestCheckpointLsn } from '@annal/engine'
import { test } from 'tap'
import { denseField, openDirectory, openIn } from '../search/rig.ts'

test('a held checkpoint has every file of the checkpoint', async (t) => {
  const dataDir = await openDirectory(t)
  const engine = await openIn(t, dataDir)
  const identity = { uuid: engine.id }
  t.equal(await newestCheckpointLsn({ dataDir, identity }), 0)
  const collection = await engine.database().createCollection({ name: 'things', fields: [denseField(2)] })
  await collection.upsert([{ id: 'a', fields: { dense: [1, 2] } }], { requestKey: 'the-first-write' })
  const { lsn } = await engine.checkpoint()
  t.equal(await newestCheckpointLsn({ dataDir, identity }), lsn)

  const into = join(dataDir, 'uploads')
  await mkdir(into)
  const held = await holdCheckpoint({ dataDir, identity, into })
  if (held === undefined) throw new Error('there is a checkpoint')
  const files = await readdir(join(dataDir, 'checkpoints', held.name))
  t.ok(files.some((name) => name.startsWith('request-keys-')))
  t.strictSame(held.files.map(({ name }) => name).sort(), files.sort())
  for (const { name, bytes } of held.files) t.equal((await stat(join(held.dir, name))).size, bytes, name)
})
