// Conditional upserts and deletes, and patches: each call has the outcome that it has in a model that runs the calls one after another, in
// the order of their records, whatever runs at the same time; and a start from what a kill leaves has the same objects.
import { cp } from 'node:fs/promises'
import {
  type Collection,
  type Engine,
  EngineError,
  type ErrorDetails,
  type Filter,
  type ObjectPatch,
  type WriteConditions,
  type WriteResult,
} from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openEngine } from '../../src/engine.ts'
import { openDirectory } from '../search/rig.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'

// A loaded machine is slow.
tap.setTimeout(900_000)

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 4_000 : 150
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 2, precision: 'float32', spaceType: 'l2' } },
  { name: 's', type: 'sparse' },
  { name: 'm', type: 'multi_vector', params: { dimension: 2, precision: 'float32', spaceType: 'l2' } },
] as const

const open = (dataDir: string): Promise<Engine> => openEngine({ dataDir, fsync: 'none' }, { pool, deltas: eagerDeltas })

async function openThings(t: Test): Promise<{ dataDir: string; engine: Engine; things: Collection }> {
  const dataDir = await openDirectory(t)
  const engine = await open(dataDir)
  t.teardown(() => engine.close())
  return { dataDir, engine, things: await engine.database().createCollection({ name: 'c', fields }) }
}

/** An object as the model keeps it. */
interface Kept {
  readonly lsn: number
  readonly n: number
  readonly filter: { readonly [key: string]: number | string }
  readonly meta: { readonly [key: string]: unknown }
}

function objectOf(id: string, n: number, filter: Kept['filter']) {
  const vectors = { v: [n, 1], ...(n % 2 === 0 && { s: { indices: [n % 5, 9], values: [n + 1, 2] } }) }
  return {
    id,
    meta: { n },
    filter,
    fields: {
      ...vectors,
      ...(n % 3 === 0 && {
        m: [
          [n, 1],
          [n, 2],
        ],
      }),
    },
  }
}

type Write =
  | {
      readonly kind: 'upsert'
      readonly atomic: boolean
      readonly objects: (ReturnType<typeof objectOf> & WriteConditions)[]
    }
  | { readonly kind: 'patch'; readonly atomic: boolean; readonly patches: ObjectPatch[] }
  | { readonly kind: 'delete'; readonly id: string; readonly ifLsn: number }

interface Done {
  readonly write: Write
  readonly lsn: number
  readonly results: readonly WriteResult[]
  readonly isRefused: boolean
}

async function run(things: Collection, write: Write): Promise<Done> {
  try {
    const done =
      write.kind === 'upsert'
        ? await things.upsert(write.objects, { atomic: write.atomic })
        : write.kind === 'patch'
          ? await things.patch(write.patches, { atomic: write.atomic })
          : await things.delete([write.id], { ifLsn: write.ifLsn })
    return { write, lsn: done.lsn, results: done.results ?? [], isRefused: false }
  } catch (error) {
    const { code, details } = error as { code: string; details: { results: WriteResult[] } }
    if (code !== 'conflict') throw error
    return { write, lsn: 0, results: details.results, isRefused: true }
  }
}

function holds({ ifAbsent, ifLsn, ifMatch }: WriteConditions, stored: Kept | undefined): boolean {
  if (ifAbsent && stored) return false
  if (ifLsn !== undefined && ifLsn !== (stored?.lsn ?? 0)) return false
  const wanted = (ifMatch as [{ third: { $eq: number } }] | undefined)?.[0].third.$eq
  return wanted === undefined || stored?.filter.third === wanted
}

/** What the write would do to the model, if it ran now. */
function outcome(write: Write, model: ReadonlyMap<string, Kept>) {
  const changes = new Map<string, (lsn: number) => Kept | undefined>()
  const results: [id: string, status: WriteResult['status'], lsn: number | undefined][] = []
  if (write.kind === 'delete') {
    const stored = model.get(write.id)
    if (stored && stored.lsn === write.ifLsn) changes.set(write.id, () => undefined)
    else if (stored) results.push([write.id, 'conflict', stored.lsn])
    return { changes, results, isRefused: results.length > 0 }
  }
  for (const one of write.kind === 'upsert' ? write.objects : write.patches) {
    const stored = model.get(one.id)
    if (!holds(one, stored)) results.push([one.id, 'conflict', stored?.lsn ?? 0])
    else if ('fields' in one) {
      changes.set(one.id, (lsn) => ({ lsn, n: one.meta.n, filter: one.filter, meta: one.meta }))
      results.push([one.id, 'ok', undefined])
    } else if (stored === undefined || typeof (stored.filter.count ?? 0) !== 'number')
      results.push([one.id, 'error', stored?.lsn ?? 0])
    else {
      const { third: _, ...rest } = stored.filter
      const filter = one.filter?.third === null ? rest : { ...stored.filter, ...(one.filter as object) }
      const count = ((stored.filter.count as number | undefined) ?? 0) + (one.increment?.count ?? 0)
      const meta = { ...stored.meta, ...one.meta }
      changes.set(one.id, (lsn) => ({ ...stored, lsn, filter: { ...filter, count }, meta }))
      results.push([one.id, 'ok', undefined])
    }
  }
  const isRefused = write.atomic && changes.size < results.length
  if (!isRefused) return { changes, results, isRefused }
  const unchanged = results.map(([id, status]) => [id, status, model.get(id)?.lsn ?? 0] as const)
  return { changes: new Map<string, never>(), results: unchanged, isRefused }
}

function randomWrite(random: Random, model: ReadonlyMap<string, Kept>): Write {
  const ids = [...new Set(Array.from({ length: 1 + random.below(4) }, () => `${random.below(12)}`))]
  const conditions = (id: string): WriteConditions => {
    const ifMatch: Filter = [{ third: { $eq: random.below(3) } }]
    const ifLsn = random.below(3) > 0 ? (model.get(id)?.lsn ?? 0) : random.below(200)
    return (
      [{}, { ifAbsent: true }, { ifLsn }, { ifMatch }, { ifLsn, ifMatch }, { ifAbsent: false }][random.below(6)] ?? {}
    )
  }
  const atomic = random.below(3) === 0
  const [first] = ids
  switch (random.below(4)) {
    case 0:
      return { kind: 'delete', id: first as string, ifLsn: Math.max(1, model.get(first as string)?.lsn ?? 0) }
    case 1:
      return {
        ...{ kind: 'patch', atomic },
        patches: ids.map((id) => ({
          ...{ id, increment: { count: random.below(5) } },
          ...(random.below(2) === 0 && { meta: { [`k${random.below(3)}`]: random.below(9) } }),
          ...(random.below(2) === 0 && { filter: { third: random.below(3) || null } }),
          ...conditions(id),
        })),
      }
    default: {
      const count = random.below(5) === 0 ? 'text' : random.below(5)
      const objects = ids.map((id) => ({
        ...objectOf(id, random.below(100), { third: random.below(3), count }),
        ...conditions(id),
      }))
      return { kind: 'upsert', atomic: atomic || !objects.some(hasConditions), objects }
    }
  }
}

const hasConditions = ({ ifAbsent, ifLsn, ifMatch }: WriteConditions) => ifAbsent || ifLsn !== undefined || !!ifMatch

/** Applies calls that ran at the same time to the model, in an order in which each has the outcome that it had. */
function applyInOrder(t: Test, done: readonly Done[], model: Map<string, Kept>): void {
  const changing = done.filter(({ results, isRefused, write }) => {
    return (
      !isRefused && (write.kind === 'delete' ? results.length === 0 : results.some(({ status }) => status === 'ok'))
    )
  })
  const others = new Set(done.filter((one) => !changing.includes(one)))
  const isSame = (one: Done) => {
    const { results, isRefused } = outcome(one.write, model)
    const had = one.results.map(({ id, status, lsn }) => [id, status, lsn])
    const expected = results.map(([id, status, lsn]) => [id, status, lsn ?? one.lsn])
    return isRefused === one.isRefused && JSON.stringify(had) === JSON.stringify(expected)
  }
  // A call that changed nothing ran somewhere between those that did.
  const settleOthers = () => {
    for (const one of others) if (isSame(one)) others.delete(one)
  }
  settleOthers()
  for (const one of [...changing].sort((a, b) => a.lsn - b.lsn)) {
    if (one.write.kind !== 'delete') t.ok(isSame(one), JSON.stringify(one))
    for (const [id, make] of outcome(one.write, model).changes) {
      const made = make(one.lsn)
      if (made) model.set(id, made)
      else model.delete(id)
    }
    settleOthers()
  }
  t.strictSame([...others], [], 'calls that changed nothing had a reason')
}

async function compare(t: Test, things: Collection, model: ReadonlyMap<string, Kept>): Promise<void> {
  const { objects } = await things.scroll({ limit: 100 })
  t.strictSame(
    objects.map(({ id, lsn, filter, meta, dense, sparse, multi }) => [
      ...[id, lsn, filter, meta, dense.v && [...dense.v.vector]],
      ...[sparse.s && [...sparse.s.values], multi.m?.map(({ vector }) => [...vector])],
    ]),
    objects.map(({ id }) => {
      const { lsn, filter, meta, n } = model.get(id) as Kept
      const m =
        n % 3 === 0
          ? [
              [n, 1],
              [n, 2],
            ]
          : undefined
      return [id, lsn, filter, meta, [n, 1], n % 2 === 0 ? [n + 1, 2] : undefined, m]
    }),
  )
  t.equal(objects.length, model.size)
}

test(`random conditional writes at the same time are as if one after another (ANNAL_SEED=${seed})`, async (t) => {
  const world = await openThings(t)
  let { engine, things } = world
  const random = seededRandom(seed)
  const model = new Map<string, Kept>()
  for (let round = 0; round < rounds; round++) {
    const writes = Array.from({ length: 1 + random.below(6) }, () => randomWrite(random, model))
    applyInOrder(t, await Promise.all(writes.map((write) => run(things, write))), model)
    await compare(t, things, model)
    const step = random.below(20)
    if (step === 0) await engine.checkpoint()
    if (step === 1) await things.rebuild()
    if (step !== 2) continue
    const digest = things.stateDigest()
    const killed = `${world.dataDir}-killed-${round}`
    await cp(world.dataDir, killed, { recursive: true })
    await engine.close()
    engine = await open(random.below(2) === 0 ? world.dataDir : killed)
    t.teardown(() => engine.close())
    things = engine.database().collection('c')
    t.equal(things.stateDigest(), digest)
    await compare(t, things, model)
    await engine.close()
    engine = await open(world.dataDir)
    things = engine.database().collection('c')
  }
})

test('callers that compare and set one object lose no increment', async (t) => {
  const { things } = await openThings(t)
  await things.upsert([objectOf('counter', 0, { count: 0 })])
  let conflicts = 0
  const add = async () => {
    for (let left = 10; left > 0; ) {
      const { lsn = 0, filter } = (await things.get('counter')) ?? {}
      const next = objectOf('counter', 0, { count: Number(filter?.count) + 1 })
      const { results } = await things.upsert([{ ...next, ifLsn: lsn }])
      if (results?.[0]?.status === 'ok') left--
      else conflicts++
    }
  }
  await Promise.all(Array.from({ length: 16 }, add))
  t.match(await things.get('counter'), { filter: { count: 160 } })
  t.ok(conflicts > 0, `${conflicts} conflicts`)
})

test('a repetition with a request key has the results of the first call, also of a conflict', async (t) => {
  const world = await openThings(t)
  let { engine, things } = world
  const { lsn } = await things.upsert([objectOf('a', 1, { count: 'text' })])
  const calls = [
    () => things.upsert([{ ...objectOf('a', 2, {}), ifLsn: lsn + 1 }, objectOf('b', 2, {})], { requestKey: '1' }),
    () => things.upsert([{ ...objectOf('a', 2, {}), ifAbsent: true }], { requestKey: '2' }),
    () =>
      things.upsert([{ ...objectOf('a', 3, {}), ifAbsent: true }, objectOf('d', 3, {})], {
        requestKey: '3',
        atomic: true,
      }),
    () =>
      things.patch(
        [
          { id: 'a', increment: { count: 1 } },
          { id: 'b', increment: { count: 1 } },
        ],
        { requestKey: '4' },
      ),
    () => things.delete(['a'], { requestKey: '5', ifLsn: lsn + 9 }),
    () => things.delete(['a'], { requestKey: '6', ifLsn: lsn }),
  ]
  const answers = async () => {
    const found: unknown[] = []
    for (const call of calls)
      found.push(
        await call().then(
          ({ durable: _, ...answer }) => answer,
          ({ code, details }) => ({ code, results: details.results }),
        ),
      )
    return found
  }
  const first = await answers()
  t.match(first, [
    {
      upserted: 1,
      results: [
        { id: 'a', status: 'conflict', lsn },
        { id: 'b', status: 'ok', lsn: lsn + 1 },
      ],
    },
    { upserted: 0, results: [{ id: 'a', status: 'conflict', lsn }] },
    {
      code: 'conflict',
      results: [
        { id: 'a', status: 'conflict', lsn },
        { id: 'd', status: 'ok', lsn: 0 },
      ],
    },
    {
      updated: 1,
      results: [
        { id: 'a', status: 'error', lsn, error: { field: 'patches[0].increment.count' } },
        { id: 'b', status: 'ok' },
      ],
    },
    { code: 'conflict', results: [{ id: 'a', status: 'conflict', lsn }] },
    { deleted: ['a'] },
  ])
  await things.upsert([objectOf('a', 9, {}), objectOf('b', 9, {})])
  t.strictSame(await answers(), first)
  await engine.close()
  engine = await open(world.dataDir)
  things = engine.database().collection('c')
  t.strictSame(await answers(), first)
  t.match(await things.get('b'), { filter: {}, meta: { n: 9 } })
  await t.rejects(things.upsert([{ ...objectOf('a', 2, {}), ifLsn: 1 }], { requestKey: '2' }), {
    code: 'request_key_reused',
  })
  await engine.close()
})

test('a patch keeps the vectors, merges keys, removes those that are null, and names what does not fit', async (t) => {
  const { things } = await openThings(t)
  await things.upsert([{ ...objectOf('a', 6, { third: 1, tag: 'x' }), meta: { n: 6, title: 'old', deep: { x: 1 } } }])
  await things.upsert([{ ...objectOf('raw', 1, {}), meta: new Uint8Array([1, 2, 3]) }])
  const before = await things.get('a')
  const { updated, lsn, results } = await things.patch([
    {
      id: 'a',
      meta: { title: null, deep: { y: 2 } },
      filter: { tag: null, color: 'red' },
      increment: { views: 2.5, third: -1 },
    },
    { id: 'raw', meta: { x: 1 } },
    { id: 'absent', meta: { x: 1 } },
  ])
  t.equal(updated, 1)
  t.match(results, [
    { id: 'a', status: 'ok', lsn },
    { id: 'raw', status: 'error', error: { code: 'invalid_argument', field: 'patches[1].meta' } },
    { id: 'absent', status: 'error', lsn: 0, error: { code: 'object_not_found', field: 'patches[2].id' } },
  ])
  const after = await things.get('a')
  t.strictSame(after?.meta, { n: 6, deep: { y: 2 } })
  t.strictSame(after?.filter, { third: 0, color: 'red', views: 2.5 })
  t.equal(after?.lsn, lsn)
  for (const part of ['dense', 'sparse', 'multi'] as const)
    t.equal(JSON.stringify(after?.[part]), JSON.stringify(before?.[part]))
  t.equal(things.count([{ color: { $eq: 'red' } }]).count, 1)
  t.equal(things.count([{ tag: { $exists: true } }]).count, 0)
})

async function refused(t: Test, call: Promise<unknown>, expected: ErrorDetails): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof EngineError)
  t.match(error instanceof EngineError && error.details, expected, JSON.stringify(expected))
}

test('wrong conditions and patches are refused with field, value, and limit', async (t) => {
  const { things } = await openThings(t)
  const object = objectOf('a', 1, {})
  const big = Number.MAX_SAFE_INTEGER
  for (const [conditions, expected] of [
    [{ ifAbsent: 1 }, { field: 'objects[0].ifAbsent', value: 1 }],
    [{ ifLsn: '7' }, { field: 'objects[0].ifLsn', value: '7' }],
    [{ ifLsn: -1 }, { field: 'objects[0].ifLsn', value: -1, limit: 0 }],
    [{ ifLsn: 2 ** 60 }, { field: 'objects[0].ifLsn', value: 2 ** 60, limit: big }],
    [{ ifMatch: { a: 1 } }, { field: 'objects[0].ifMatch' }],
    [{ ifAbsent: true, ifLsn: 3 }, { field: 'objects[0].ifLsn' }],
    [{ ifAbsent: true, ifMatch: [] }, { field: 'objects[0].ifMatch' }],
  ] as const)
    await refused(t, things.upsert([{ ...object, ...(conditions as object) }]), expected)
  await refused(t, things.upsert([{ ...object, ifLsn: 0 }, object]), { field: 'objects[1].id', value: 'a' })
  await refused(t, things.upsert([object], { atomic: 1 as never }), { field: 'atomic', value: 1 })
  await refused(t, things.delete(['a', 'b'], { ifLsn: 1 }), { field: 'ids', value: 2, limit: 1 })
  await refused(t, things.delete(['a'], { ifLsn: 0 }), { field: 'ifLsn', value: 0, limit: 1 })
  for (const [patch, expected] of [
    [{}, { field: 'patches[0]' }],
    [{ meta: 'x' }, { field: 'patches[0].meta', value: 'x' }],
    [{ meta: [] }, { field: 'patches[0].meta' }],
    [{ filter: 7 }, { field: 'patches[0].filter', value: 7 }],
    [{ increment: { n: 'x' } }, { field: 'patches[0].increment.n', value: 'x' }],
    [{ increment: { n: Number.NaN } }, { field: 'patches[0].increment.n' }],
    [{ increment: { n: 1 }, filter: { n: 2 } }, { field: 'patches[0].increment.n' }],
    [
      { increment: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`k${i}`, 1])) },
      { field: 'patches[0].increment', value: 257, limit: 256 },
    ],
  ] as const)
    await refused(t, things.patch([{ id: 'a', ...(patch as object) }]), expected)
  const many = Array.from({ length: 1_001 }, (_, i) => ({ id: `${i}`, meta: {} }))
  await refused(t, things.patch(many), { field: 'patches', value: 1_001, limit: 1_000 })
  await refused(t, things.patch([many[0], many[0]] as never), { field: 'patches[1].id', value: '0' })
  t.strictSame(await things.scroll(), { objects: [], cursor: undefined, lsn: things.describe().lsn })
})
