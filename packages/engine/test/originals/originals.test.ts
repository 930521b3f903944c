import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { nodeVfs } from '@annal/wal'
import { test } from 'tap'
import { Originals } from '../../src/originals/originals.ts'

async function inDirectory(act: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-originals-'))
  try {
    await act(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

const owner = { collectionId: 7, generation: 0, field: 0, dimension: 10_000, several: false }

function rows(count: number, from: number): Float32Array {
  return Float32Array.from(
    { length: count * owner.dimension },
    (_, i) => from + Math.floor(i / owner.dimension) + ((i % owner.dimension) % 97) / 100,
  )
}

test('vectors read back bit for bit across chunks, and a changed bit is detected', async (t) => {
  await inDirectory(async (dir) => {
    const originals = new Originals(
      { vfs: nodeVfs(), dir, directory: () => '00000000-0000-4000-8000-000000000001' },
      owner,
    )
    t.notOk(originals.hasRoom(1))
    for (let batch = 0; batch < 5; batch++) {
      await originals.prepare(100)
      t.ok(originals.hasRoom(100))
      await originals.append(
        Uint32Array.from({ length: 100 }, (_, i) => 1_000 * batch + i),
        rows(100, 100 * batch),
      )
    }
    t.equal(originals.names().length, 2, '256 rows of 10,000 dimensions make a chunk')
    for (const [ordinal, from] of [
      [0, 0],
      [99, 99],
      [2_055, 255],
      [2_056, 256],
      [4_099, 499],
    ] as const)
      t.strictSame(await originals.read(ordinal), rows(1, from), `ordinal ${ordinal}`)
    t.notOk(originals.has(500))
    originals.release(0)
    t.notOk(originals.has(0))
    const path = join(dir, originals.names()[0] as string)
    const bytes = await readFile(path)
    bytes[64 + 3 * 40_008 + 77] = (bytes[64 + 3 * 40_008 + 77] as number) ^ 4
    await writeFile(path, bytes)
    await t.rejects(originals.read(3), { code: 'snapshot_damaged' })
    await originals.close()
  })
})

test('many vectors are read at once as given, and files of cosine fields require a current version', async (t) => {
  await inDirectory(async (dir) => {
    const place = { vfs: nodeVfs(), dir, directory: () => '00000000-0000-4000-8000-000000000001' }
    const originals = new Originals(place, { ...owner, scales: true })
    const forms = Uint8Array.from({ length: 300 }, (_, i) => i % 3)
    await originals.prepare(300)
    const ordinals = Uint32Array.from({ length: 300 }, (_, i) => 299 - i)
    await originals.append(ordinals, rows(300, 0), { forms })
    const requested = [...Array.from({ length: 40 }, (_, i) => 230 + i), 7, 299, 1_000, 0, 8]
    const read = await originals.readGiven(requested)
    for (const [i, ordinal] of requested.entries()) {
      if (ordinal === 1_000) t.equal(read[i], undefined, 'one that has none')
      else t.strictSame(read[i], { vector: rows(1, 299 - ordinal), form: (299 - ordinal) % 3 }, `ordinal ${ordinal}`)
    }
    const compared = await originals.read(298)
    t.ok(Math.abs(Math.hypot(...compared) - 1) < 1e-6, 'a comparison takes it at unit length')
    t.strictSame(await originals.read(299), rows(1, 0), 'one of form 0 is compared unchanged')
    const bytes = await readFile(join(dir, originals.names()[0] as string))
    t.strictSame([bytes.readUInt16LE(8), bytes.readUInt16LE(10), bytes.readUInt16LE(12)], [3, 3, 3])
    bytes[64 + 40_008 * 10] = 77
    await writeFile(join(dir, originals.names()[0] as string), bytes)
    await t.rejects(originals.readGiven([291, 290, 289, 288]), { code: 'snapshot_damaged' })
    await originals.close()
  })
})

test('rescored results are exact, survive restarts, replays, and a lost directory of originals, and are deleted with their collection', async (t) => {
  await inDirectory(async (dir) => {
    const dataDir = join(dir, 'data')
    const dimension = 24
    let state = 12345
    const random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state / 2 ** 32 - 0.5
    }
    const vectors = Array.from({ length: 3_000 }, () => Array.from({ length: dimension }, random))
    const query = Array.from({ length: dimension }, random)
    const exact = vectors
      .map((vector, i) => ({
        id: `${i}`,
        similarity: -vector.reduce((sum, x, j) => sum + (Math.fround(x) - Math.fround(query[j] as number)) ** 2, 0),
      }))
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, 10)
    const check = async (engine: Awaited<ReturnType<typeof openEngine>>, label: string) => {
      const { results } = await engine
        .database()
        .collection('v')
        .search({ fields: { v: { query, limit: 10, ef: 400 } }, rescore: true })
      const hits = results.v ?? []
      t.strictSame(
        hits.map((hit) => hit.id),
        exact.map((hit) => hit.id),
        label,
      )
      t.ok(
        hits.every((hit, i) => Math.abs(hit.similarity - (exact[i]?.similarity ?? 0)) < 1e-5),
        'similarities are those of the vectors as they came',
      )
    }
    const open = () => openEngine({ dataDir, threads: 1, keepLog: true })
    let engine = await open()
    const params = { dimension, space_type: 'l2', precision: 'int8' } as const
    const collection = await engine
      .database()
      .createCollection({ name: 'v', fields: [{ name: 'v', type: 'vector', params }] })
    // Every object twice, so that slots and ordinals differ.
    for (const round of [1, 0])
      for (let i = 0; i < vectors.length; i += 500)
        await collection.upsert(
          vectors
            .slice(i, i + 500)
            .map((vector, j) => ({ id: `${i + j}`, fields: { v: vector.map((x) => x + round) } })),
        )
    await check(engine, 'live')
    const digest = collection.stateDigest()
    await engine.close()
    engine = await open()
    await check(engine, 'from a checkpoint')
    await engine.close()
    await rm(join(dataDir, 'originals'), { recursive: true })
    engine = await open()
    await check(engine, 'the checkpoint still has the files')
    await engine.close()
    for (const name of await readdir(join(dataDir, 'originals')))
      await copyFile(join(dataDir, 'originals', name), join(dir, 'copy'))
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    engine = await open()
    await check(engine, 'by replay over what was there')
    t.equal(engine.database().collection('v').stateDigest(), digest)
    await engine.database().deleteCollection('v')
    // In the background: closing waits until the files are removed.
    while ((await readdir(join(dataDir, 'originals'))).length > 0) await sleep(10)
    await copyFile(join(dir, 'copy'), join(dataDir, 'originals', 'collection-1-generation-0-field-0-chunk-0.f32'))
    await engine.close()
    engine = await open()
    t.strictSame(await readdir(join(dataDir, 'originals')), [], 'what a crash left of a dropped collection is swept')
    await engine.close()
  })
})
