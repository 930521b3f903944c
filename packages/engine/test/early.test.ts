// Access to collections during a replay of the log, and the time to close an engine during a long operation.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 16, space_type: 'l2', precision: 'float32', M: 16, ef_con: 128 } },
] as const

async function inDirectory(act: (dataDir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-early-'))
  try {
    await act(join(dir, 'data'))
  } finally {
    await rm(dir, { recursive: true })
  }
}

function objects(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    fields: { v: Array.from({ length: 16 }, (__, index) => Math.sin((from + i) * (index + 1))) },
  }))
}

test('during a replay, a collection that is not replayed yet is loading, and one that is not in the log is not found', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1, keepLog: true })
    const early = await first.database().createCollection({ name: 'early', fields })
    for (const from of [0, 1_000]) await early.upsert(objects(1_000, from))
    const late = await first.database().createCollection({ name: 'late', fields })
    await late.upsert(objects(10))
    const digest = late.stateDigest()
    await first.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    const codes: unknown[] = []
    const codeOf = (engine: Engine, name: string): void => {
      try {
        engine.database().collection(name).describe()
        codes.push('served')
      } catch (error) {
        codes.push((error as { code?: unknown }).code)
      }
    }
    const engine = await openEngine({
      dataDir,
      threads: 1,
      keepLog: true,
      onServing: (serving) => {
        codeOf(serving, 'late')
        codeOf(serving, 'never')
      },
    })
    t.strictSame(codes, ['collection_loading', 'collection_not_found'])
    t.equal(engine.database().collection('late').stateDigest(), digest)
    await engine.close()
  })
})

test('closing the engine cancels a running rebuild and loses nothing', async (t) => {
  await inDirectory(async (dataDir) => {
    const engine = await openEngine({ dataDir, threads: 1 })
    const collection = await engine.database().createCollection({ name: 'c', fields })
    for (let index = 0; index < 6_000; index += 1_000) await collection.upsert(objects(1_000, index))
    const digest = collection.stateDigest()
    const rebuilding = collection.rebuild().then(
      () => 'done',
      (error) => error.code,
    )
    while (collection.rebuildStatus().objectsDone === 0) await new Promise((resolve) => setImmediate(resolve))
    await engine.close()
    t.equal(await rebuilding, 'closed', 'it was not waited for')
    const again = await openEngine({ dataDir, threads: 1 })
    t.equal(again.database().collection('c').stateDigest(), digest)
    await again.close()
  })
})
