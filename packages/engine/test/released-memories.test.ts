// Operations that create and release memories of fields repeatedly use no more of the system in the end than after the first rounds:
// address space, mappings, and file descriptors.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Database, type FieldDefinition, openEngine, type Precision } from '@annal/engine'
import { type Taken, takenByProcess } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { releasedMin } from '../src/vector/threads/garbage.ts'

tap.setTimeout(900_000)

const skip = takenByProcess() === undefined && 'the system has no /proc to count in'
const dimension = 8
const dense = (name: string, precision: Precision) =>
  ({
    name,
    type: 'vector',
    params: { dimension, space_type: 'l2', precision, M: 4, ef_con: 16 },
  }) as const
const kinds = {
  float32: { field: dense('v', 'float32'), value: vectorOf },
  int8: { field: dense('v', 'int8'), value: vectorOf },
  sparse: { field: { name: 'v', type: 'sparse' }, value: (n: number) => ({ indices: [1, n + 2], values: [1, 2] }) },
  multi: {
    field: { name: 'v', type: 'multi_vector', params: { dimension, space_type: 'l2', precision: 'int8' } },
    value: (n: number) => [vectorOf(n), vectorOf(n + 1)],
  },
} as const
type Kind = keyof typeof kinds

function vectorOf(n: number): number[] {
  return Array.from({ length: dimension }, (_, i) => Math.sin((n + 1) * (i + 1)))
}

async function fillCollection(database: Database, name: string, kind: Kind, objects: number): Promise<Collection> {
  const { field, value } = kinds[kind]
  const fields: readonly FieldDefinition[] = [field]
  const collection = await database.createCollection({ name, fields })
  await collection.upsert(Array.from({ length: objects }, (_, n) => ({ id: `${n}`, fields: { v: value(n) } })))
  return collection
}

function rangeOf(looks: readonly Taken[], what: keyof Taken): [least: number, most: number] {
  const values = looks.map((taken) => taken[what])
  return [Math.min(...values), Math.max(...values)]
}

/** Runs rounds of an operation in a separate directory. Each round leaves nothing behind. */
async function runRounds(
  t: Test,
  count: number,
  begin: (database: Database) => Promise<(round: number) => Promise<void>>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-memories-'))
  const engine = await openEngine({ dataDir: join(dir, 'data'), threads: 2, fsync: 'none' })
  try {
    const round = await begin(engine.database())
    const looks: Taken[] = []
    for (let index = 0; index < count; index++) {
      await round(index)
      // The amount of released memory that is not collected yet varies between rounds, so it is measured often.
      looks.push(takenByProcess() as Taken)
    }
    const half = Math.floor(count / 2)
    const [early, late] = [looks.slice(0, half), looks.slice(half)]
    for (const what of ['memories', 'mappings', 'descriptors', 'rssBytes'] as const)
      t.comment(`${what}: ${rangeOf(early, what)} in the first half, ${rangeOf(late, what)} in the second`)
    // A thread that is busy when the others collect garbage frees its memories the next time.
    t.ok(rangeOf(looks, 'memories')[1] <= 3 * releasedMin, 'no more memories than the rule leaves')
    // The least is what no collection frees. The most varies with the turns in which threads collect.
    const last = looks.slice(Math.floor((3 * count) / 4))
    t.ok(rangeOf(last, 'memories')[0] <= rangeOf(early, 'memories')[0] + releasedMin, 'and none of them stays for good')
    // While a checkpoint is written, files of collections that were deleted meanwhile stay open, and a thread may start in the first half.
    t.ok(rangeOf(last, 'descriptors')[0] <= rangeOf(early, 'descriptors')[1] + 4, 'descriptors stay as they are')
  } finally {
    await engine.close()
    await rm(dir, { recursive: true })
  }
}

for (const kind of Object.keys(kinds) as Kind[])
  test(`creating and deleting collections with a ${kind} field`, { skip }, (t) =>
    runRounds(t, 140, async (database) => async (round) => {
      const collection = await fillCollection(database, `c${round}`, kind, 1)
      const { value } = kinds[kind]
      if (kind !== 'multi') await collection.search({ fields: { v: { query: value(0) as number[], limit: 1 } } })
      await database.deleteCollection(`c${round}`)
    }),
  )

test('small fields that grow are rebuilt at their precision', { skip }, (t) =>
  runRounds(t, 140, async (database) => async (round) => {
    await fillCollection(database, `c${round}`, 'int8', 300)
    await database.deleteCollection(`c${round}`)
  }),
)

for (const [name, act] of [
  ['rebuilds', (collection: Collection) => collection.rebuild()],
  ['vacuums', (collection: Collection) => collection.vacuum()],
] as const)
  test(`${name} of one collection`, { skip }, (t) =>
    runRounds(t, 140, async (database) => {
      const collection = await fillCollection(database, 'c', 'int8', 20)
      return async () => void (await act(collection))
    }),
  )

test('clones that are deleted', { skip }, (t) =>
  runRounds(t, 140, async (database) => {
    await fillCollection(database, 'source', 'int8', 20)
    return async (round) => {
      await database.backups.clone('source', `c${round}`)
      await database.collection(`c${round}`).served()
      await database.deleteCollection(`c${round}`)
    }
  }),
)

test('restores that are deleted, and verified backups', { skip }, (t) =>
  runRounds(t, 140, async (database) => {
    await fillCollection(database, 'source', 'sparse', 20)
    const { name } = await database.backups.create('source')
    await database.backups.settled()
    return async (round) => {
      await database.backups.restore(name, `c${round}`)
      await database.deleteCollection(`c${round}`)
      if (round % 2 === 0) await database.backups.verify(name, { deep: true })
    }
  }),
)

test('collections that a start loaded', { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-memories-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const options = { dataDir: join(dir, 'data'), threads: 2, fsync: 'none' } as const
  const count = 3 * releasedMin
  const first = await openEngine(options)
  for (let n = 0; n < count; n++) await fillCollection(first.database(), `c${n}`, 'float32', 1)
  await first.close()
  const engine = await openEngine(options)
  t.teardown(() => engine.close())
  const memories = () => takenByProcess()?.memories ?? 0
  const loaded = memories()
  t.ok(loaded >= count, `${loaded} memories after the start`)
  for (let n = 0; n < count; n++) await engine.database().deleteCollection(`c${n}`)
  // Each further round creates and releases one memory, so that remaining ones are collected with it.
  for (let n = 0; n < 2 * releasedMin; n++) {
    await fillCollection(engine.database(), 'more', 'float32', 1)
    await engine.database().deleteCollection('more')
  }
  const left = loaded - count
  t.ok(memories() <= left + 2 * releasedMin, `${memories()} memories when they are deleted`)
})
