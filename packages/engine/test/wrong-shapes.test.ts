// Programs without types can pass any value. Each call runs with one part of a valid argument replaced by a value of another kind. It
// succeeds or fails with an error of the engine, never with an error of JavaScript.
import { WalError } from '@annal/wal'
import { test } from 'tap'
import { type Collection, type Database, type Engine, EngineError, openEngine } from '../src/index.ts'

const definition = {
  name: 'films',
  fields: [
    { name: 'plot', type: 'vector', params: { dimension: 2, spaceType: 'l2', M: 8, efConstruction: 40 } },
    { name: 'words', type: 'sparse', params: { model: 'default', dimension: 100 } },
    { name: 'frames', type: 'multi_vector', params: { dimension: 2, pooling: 'max' } },
  ],
} as const

const object = {
  id: 'a',
  meta: { title: 'Alien' },
  filter: { year: 1979, tags: ['x'] },
  fields: { plot: [1, 2], words: { indices: [1], values: [0.5] }, frames: [[1, 2]] },
}
const filter = [{ year: { $range: [1970, 1989] } }, { $or: [{ tags: { $in: ['x'] } }, { $not: { a: { $eq: 1 } } }] }]
const search = {
  fields: {
    plot: { query: [1, 2], limit: 3, ef: 9, scoreThreshold: -9 },
    words: { query: { indices: [1], values: [1] } },
    frames: { query: { id: 'a' } },
  },
  filter,
  fusion: { method: 'rrf', k: 60, weights: { plot: 2 }, limit: 3 },
  prefilterCardinalityThreshold: 1_000,
  filterBoostPercentage: 10,
}

interface Case {
  readonly call: string
  readonly argument: unknown
  make(given: never): unknown
}

function casesOf({ control }: Engine, database: Database, films: Collection): readonly Case[] {
  let made = 0
  const token = { name: 'reader', kind: 'r', hash: '0'.repeat(64) }
  return [
    { call: 'collection', argument: definition, make: (given) => database.collection(given) },
    {
      call: 'createCollection',
      argument: definition,
      make: async (given: { readonly name?: unknown } | null) => {
        const named = given !== null && typeof given === 'object' && given.name === 'films'
        await database.createCollection((named ? { ...given, name: `made-${made++}` } : given) as never)
      },
    },
    { call: 'upsert', argument: [object], make: (given) => films.upsert(given) },
    {
      call: 'patch',
      argument: [{ id: 'a', meta: { seen: true }, filter: { year: 1979 }, increment: { views: 1 } }],
      make: (given) => films.patch(given),
    },
    { call: 'get', argument: 'a', make: (given) => films.get(given) },
    { call: 'getMany', argument: ['a'], make: (given) => films.getMany(given) },
    { call: 'delete', argument: ['nobody'], make: (given) => films.delete(given) },
    { call: 'deleteWhere', argument: [{ never: { $eq: 1 } }], make: (given) => films.deleteWhere(given) },
    {
      call: 'updateFilters',
      argument: [{ id: 'a', filter: { year: 1979 } }],
      make: (given) => films.updateFilters(given),
    },
    { call: 'search', argument: search, make: (given) => films.search(given) },
    { call: 'searchBatch', argument: [search], make: (given) => films.searchBatch(given) },
    { call: 'count', argument: filter, make: (given) => films.count(given) },
    { call: 'facets', argument: { key: 'year', filter, limit: 3 }, make: (given) => films.facets(given) },
    { call: 'scroll', argument: { filter, limit: 3, includeVectors: true }, make: (given) => films.scroll(given) },
    { call: 'recall', argument: { field: 'plot', sample: 1, limit: 1, ef: 10 }, make: (given) => films.recall(given) },
    { call: 'neighbors', argument: 'plot', make: (given) => films.neighbors(given, 'a') },
    { call: 'neighbors', argument: 'a', make: (given) => films.neighbors('plot', given) },
    { call: 'putAlias', argument: 'films', make: (given) => database.putAlias('movies', given) },
    {
      call: 'promote',
      argument: { over: 'nothing', keepAs: 'earlier' },
      make: (given) => database.promote('films', given),
    },
    {
      call: 'branch',
      argument: { name: 'films', asOf: { lsn: 1 } },
      make: (given) => database.branch('films', given),
    },
    {
      call: 'createDatabase',
      argument: { name: 'default', type: 'pro', token },
      make: (given) => control.createDatabase(given),
    },
    { call: 'putToken', argument: token, make: (given) => control.putToken('default', given) },
    { call: 'putSetting', argument: 'value', make: (given) => control.putSetting('key', given) },
    {
      call: 'rebuild',
      argument: { plot: { M: 8, efConstruction: 40 } },
      make: (given) => films.rebuild(given),
    },
  ]
}

const others = [undefined, null, true, 0, -1, 1.5, Number.NaN, '', 'x', [], {}, [null], { x: null }, () => 1, 7n]

/** Copies of `value` with one of its parts replaced by each of `others`. */
function* variantsOf(value: unknown, where = ''): Generator<{ readonly where: string; readonly given: unknown }> {
  for (const [i, given] of others.entries()) yield { where: `${where} = others[${i}]`, given }
  if (value === null || typeof value !== 'object') return
  for (const [key, part] of Object.entries(value)) {
    for (const { where: inner, given } of variantsOf(part, `${where}.${key}`)) {
      const copy = Array.isArray(value) ? [...value] : { ...value }
      ;(copy as Record<string, unknown>)[key] = given
      yield { where: inner, given: copy }
    }
  }
}

test('a call with a value of another kind succeeds, or fails with an error of the engine', async (t) => {
  const engine = await openEngine({ dataDir: t.testdir(), threads: 1, fsync: 'none' })
  const database = engine.database()
  const films: Collection = await database.createCollection(definition)
  let calls = 0
  const faults: string[] = []
  for (const { call, argument, make } of casesOf(engine, database, films)) {
    await films.upsert([object])
    for (const { where, given } of variantsOf(argument)) {
      calls++
      try {
        await make(given as never)
      } catch (error) {
        if ((error instanceof EngineError || error instanceof WalError) && error.code !== undefined) continue
        faults.push(`${call}${where}: ${error}`)
      }
    }
  }
  t.same(faults, [])
  t.ok(calls > 1_000, `${calls} calls`)
  t.equal(engine.health().status, 'ok')
  await engine.close()
})
