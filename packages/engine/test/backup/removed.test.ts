// A backup that is removed during a read is reported as not found: not as damaged, and not as a failed disk.
import { openEngine } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { watchedVfs } from '../crash/watched-vfs.ts'
import { backedUp, denseField, runRandomLife, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
const gone = { code: 'backup_not_found', details: { field: 'backup', value: 'b' } }

test(`restoring or verifying a backup that is removed meanwhile is rejected with backup_not_found, seed ${seed}`, async (t) => {
  const dataDir = await temporaryDirectory(t)
  let onLink = async (): Promise<void> => undefined
  const vfs = watchedVfs(async ({ call, path }) => {
    if (call === 'link' && path.includes('/imports/')) await onLink()
  })
  const engine = await openEngine({ dataDir, threads: 1 }, { vfs })
  t.teardown(() => engine.close())
  const database = engine.database()
  const { backups } = database
  await runRandomLife(await database.createCollection({ name: 'c', fields: [denseField()] }), seededRandom(seed), 20)
  await backedUp(database, 'c', 'b')
  let removed: Promise<void> | undefined
  onLink = () => (removed ??= backups.remove('b'))
  await t.rejects(backups.restore('b', 'd'), gone, 'restored')
  t.ok(removed !== undefined, 'it was removed between two files')
  t.throws(() => database.collection('d'), { code: 'collection_not_found' }, 'and left nothing')

  await backedUp(database, 'c', 'b')
  const refused = t.rejects(backups.verify('b', { deep: true }), gone, 'verified')
  await backups.remove('b')
  await refused
})
