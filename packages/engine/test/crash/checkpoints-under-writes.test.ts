// A checkpoint taken while objects are replaced, deleted, and given other filters is the collection at one record: a start from it and
// the records after it gives the same bytes as a start from the log alone. Most vectors are copies of others, since copies share a node
// of the graph, and a write to one object then changes rows of others. ANNAL_LONG=1 runs 100 rounds with 40 checkpoints each.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'

tap.setTimeout(7_200_000)

const isLong = process.env.ANNAL_LONG === '1'
const rounds = isLong ? 100 : 2
const checkpoints = isLong ? 40 : 4
const dimension = 16
const ids = 1_200
const kinds = 150
const precisions = ['int8', 'float32', 'binary', 'int16', 'float16', 'int4', 'int2'] as const
const seed = chosenSeed()

for (let round = 0; round < rounds; round++) {
  const precision = precisions[(seed + round) % precisions.length] ?? 'int8'
  test(`checkpoints of ${precision} rows under writes, seed ${seed + round}`, async (t) => {
    const random = seededRandom(seed + round)
    const dir = await mkdtemp(join(tmpdir(), 'annal-checkpoints-'))
    const pool = await openWorkerPool({ threads: 2 })
    t.teardown(async () => {
      await pool.close()
      await rm(dir, { recursive: true })
    })
    const dataDir = join(dir, 'data')
    // Every second round has checkpoints of changes.
    // Another one that started automatically would change files while they are copied.
    const parts = { pool, checkpointsOnDemand: true, ...(round % 2 === 0 && { deltas: eagerDeltas }) }
    const engine = await openEngine({ dataDir, fsync: 'none', keepLog: true }, parts)
    const collection = await engine.database().createCollection({
      name: 'main',
      fields: [
        { name: 'v', type: 'vector', params: { dimension, spaceType: 'cosine', precision, M: 8, efConstruction: 24 } },
        { name: 's', type: 'sparse' },
      ],
    })
    const vectorOf = (kind: number) => Array.from({ length: dimension }, (_, i) => Math.sin((kind + 1) * (i + 1)))
    const objectOf = (id: number) => ({
      id: `${id}`,
      filter: { group: random.below(20), text: 'x'.repeat(random.below(40)) },
      meta: { id },
      fields: {
        v: vectorOf(random.below(kinds)),
        s: { indices: [random.below(60), 60 + (id % 40)], values: [1, 0.5] },
      },
    })
    const write = async () => {
      const first = random.below(ids - 60)
      await collection.upsert(Array.from({ length: 60 }, (_, i) => objectOf(first + i)))
      const chance = random.below(4)
      if (chance === 0) await collection.deleteWhere([{ group: { $eq: random.below(20) } }])
      if (chance === 1)
        await collection.updateFilters([{ id: `${random.below(ids)}`, filter: { group: random.below(20) } }])
    }
    for (let first = 0; first < ids; first += 400)
      await collection.upsert(Array.from({ length: 400 }, (_, i) => objectOf(first + i)))
    for (let i = 0; i < checkpoints; i++) {
      let isOver = false
      const writing = (async () => {
        while (!isOver) await write()
      })()
      await engine.checkpoint()
      isOver = true
      await writing
      const digest = digestOf(engine)
      const fromCheckpoint = await digestOfCopy(dataDir, { withCheckpoints: true })
      t.same(fromCheckpoint, { digest, reasons: [] }, `checkpoint ${i}`)
      if (i === checkpoints - 1)
        t.same(await digestOfCopy(dataDir, { withCheckpoints: false }), { digest, reasons: [] }, 'the log alone')
    }
    await engine.close()

    async function digestOfCopy(from: string, { withCheckpoints }: { readonly withCheckpoints: boolean }) {
      const copy = `${from}-copy`
      await cp(from, copy, { recursive: true })
      await rm(join(copy, 'LOCK'), { force: true })
      if (!withCheckpoints) await rm(join(copy, 'checkpoints'), { recursive: true })
      const opened = await openEngine({ dataDir: copy, keepLog: true }, { pool })
      try {
        return { digest: digestOf(opened), reasons: opened.health().reasons }
      } finally {
        await opened.close()
        await rm(copy, { recursive: true })
      }
    }
  })
}

function digestOf(engine: Engine): string {
  return engine.database().collection('main').stateDigest()
}
