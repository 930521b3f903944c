// A process of under-load.test.ts: writes and backs up until it is killed. Says when it has begun.
import { openEngine } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { denseField, runRandomLife } from './rig.ts'

const dataDir = process.argv[2] as string
const engine = await openEngine({ dataDir, threads: 1 })
const database = engine.database()
if (database.collections().length === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
const random = seededRandom(process.pid)
process.stdout.write('begun\n')
for (let i = 0; ; i++) {
  await runRandomLife(database.collection('a'), random, 3)
  await database.backups.create('a', `b-${process.pid}-${i}`)
  await Promise.all([runRandomLife(database.collection('a'), random, 2), database.backups.settled()])
  if (i % 3 === 0) await engine.checkpoint()
}
