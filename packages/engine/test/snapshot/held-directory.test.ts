// A directory of manifest format 13: a collection was out of service when its newest checkpoints were taken, so its files hold less than
// the checkpoint, and a start replays from the record that they hold. `ANNAL_GOLDEN=write` makes the golden file.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { nodeVfs, type Vfs } from '@annal/wal'
import { errnoError } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { denseField } from '../backup/rig.ts'
import { eagerDeltas } from './eager-deltas.ts'
import { filesOfKilled, formatsOf, type GoldenFiles, manifestsOf, storeGolden, writeGolden } from './golden-files.ts'

tap.setTimeout(120_000)

const format = 'held-directory-1'
const names = ['held', 'other']

interface Golden extends GoldenFiles {
  /** By collection, of everything that was acknowledged. */
  readonly digests: Readonly<Record<string, string>>
}

const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

const object = (n: number) => ({
  id: `o${n}`,
  meta: { n },
  filter: { even: n % 2 === 0 },
  fields: { v: [n, 1, 2, 3, 4, 5, 6, 7], t: `word${n} word${n % 3}` },
})
const objects = (from: number, count: number) => Array.from({ length: count }, (_, i) => object(from + i))

function digestsOf(engine: Engine): Golden['digests'] {
  return Object.fromEntries(names.map((name) => [name, engine.database().collection(name).stateDigest()]))
}

/** The disk refuses the original vectors of the first collection. */
function refusingVfs(): Vfs {
  const inner = nodeVfs()
  return {
    ...inner,
    async open(path, mode) {
      const file = await inner.open(path, mode)
      const write: typeof file.write = async (bytes, position) => {
        if (path.includes('/originals/collection-1-')) throw errnoError('ENOSPC', { call: 'write', path })
        return file.write(bytes, position)
      }
      return { ...file, write }
    },
  }
}

async function makeGolden(dir: string): Promise<Golden> {
  const live = join(dir, 'live')
  const dataDir = join(dir, 'killed')
  const fields = [denseField('v'), { name: 't', type: 'text' }] as const
  const first = await openEngine({ dataDir: live }, { pool, deltas: eagerDeltas })
  const database = first.database()
  for (const name of names) await database.createCollection({ name, fields })
  for (const name of names) await database.collection(name).upsert(objects(0, 40))
  await first.checkpoint()
  for (const name of names) await database.collection(name).upsert(objects(30, 20))
  await database.collection('held').delete(['o1', 'o45'])
  const { held } = digestsOf(first)
  await cp(live, dataDir, { recursive: true })
  await first.close()
  const second = await openEngine({ dataDir }, { pool, vfs: refusingVfs(), deltas: eagerDeltas })
  // Two checkpoints of which the collection has no part: one while records after it are missing, one that inherits that.
  for (const from of [60, 70]) {
    await second.database().collection('other').upsert(objects(from, 5))
    await second.checkpoint()
  }
  await second.database().collection('other').delete(['o60'])
  const other = second.database().collection('other').stateDigest()
  const copy = join(dir, 'copy')
  await cp(dataDir, copy, { recursive: true })
  await second.close()
  return { digests: { held: held ?? '', other }, files: await filesOfKilled(copy) }
}

test('a directory with a collection that was out of service opens with everything that was acknowledged', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-held-'))
  t.teardown(() => rm(dir, { recursive: true }))
  if (process.env.ANNAL_GOLDEN === 'write') storeGolden(format, await makeGolden(dir))
  const dataDir = join(dir, 'data')
  const golden = await writeGolden<Golden>(format, dataDir)
  t.strictSame(formatsOf(golden), [13, 13], 'an earlier version refuses it')
  for (const manifest of manifestsOf(golden)) t.match(manifest, /"lsnHeld":\d+/)
  const { findings } = await verifyDataDirectory({ dataDir, deep: true, threads: 1, scratchDir: dir })
  t.strictSame(
    findings.filter(({ severity }) => severity === 'damage'),
    [],
  )
  for (let start = 0; start < 2; start++) {
    const engine = await openEngine({ dataDir }, { pool })
    t.strictSame(engine.health().reasons, [])
    t.strictSame(digestsOf(engine), golden.digests, start === 0 ? 'after the kill' : 'and after an orderly close')
    await engine.close()
  }
})
