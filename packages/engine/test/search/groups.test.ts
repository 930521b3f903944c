// Grouped searches: exact ones equal groups that are made of complete lists, for fields of every kind, with filters, thresholds, fusion and
// pages; approximate ones have as many groups and hits as exist; all hits of a search are of one version while others write.
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type {
  Collection,
  FieldDefinition,
  Filter,
  Fusion,
  SearchHit,
  SearchRequest,
  SearchResult,
} from '../../src/index.ts'
import { openEngine } from '../../src/index.ts'
import { startReader } from '../readers/reader-thread.ts'
import { openCollection, openDirectory, openIn } from './rig.ts'

const seed = chosenSeed()
const objectCount = 300
const words = ['ant', 'bee', 'cat', 'dog', 'eel', 'fox', 'gnu', 'hen']

const fields: readonly FieldDefinition[] = [
  { name: 'dense', type: 'vector', params: { dimension: 3, spaceType: 'l2', precision: 'float32' } },
  { name: 'coarse', type: 'vector', params: { dimension: 3, spaceType: 'cosine', precision: 'int4' } },
  { name: 'sparse', type: 'sparse' },
  { name: 'body', type: 'text', params: { language: 'english' } },
  { name: 'several', type: 'multi_vector', params: { dimension: 3, spaceType: 'cosine', precision: 'float32' } },
]
const names = fields.map(({ name }) => name)

type Scalar = string | number | boolean

interface Group {
  readonly value: Scalar
  readonly hits: readonly string[]
}

/** A value of the key: of a few large and many small groups, of several groups, or of none. */
function randomValue(random: Random): unknown {
  const one = (): Scalar => {
    const kind = random.below(10)
    if (kind < 7) return 'large'
    if (kind === 7) return random.below(2) === 0
    return kind < 9 ? random.below(20) : `doc-${random.below(40)}`
  }
  const kind = random.below(20)
  if (kind === 0) return null
  if (kind === 1) return []
  if (kind === 2) return { nested: 1 }
  return kind < 6 ? Array.from({ length: 1 + random.below(3) }, one) : one()
}

async function fill(collection: Collection, random: Random): Promise<void> {
  const vector = () => Array.from({ length: 3 }, () => random.below(9) - 4 + 0.5)
  const objects = Array.from({ length: objectCount }, (_, i) => ({
    id: `o${i}`,
    fields: {
      ...(random.below(9) > 0 && { dense: vector() }),
      coarse: vector(),
      sparse: { indices: [random.below(4), 4 + random.below(4)], values: [1 + random.below(4), 1] },
      body: Array.from({ length: 1 + random.below(6) }, () => words[random.below(words.length)]).join(' '),
      several: Array.from({ length: 1 + random.below(3) }, vector),
    },
    filter: { ...(random.below(12) > 0 && { doc: randomValue(random) }), color: random.below(3) } as never,
  }))
  await collection.upsert(objects)
}

function queryOf(name: string, random: Random): SearchRequest['fields'][string]['query'] {
  if (random.below(6) === 0) return { id: `o${random.below(objectCount)}` }
  if (name === 'sparse') return { indices: [random.below(4), 4 + random.below(4)], values: [1, 0.5] }
  if (name === 'body') return `${words[random.below(8)]} ${words[random.below(8)]}`
  return Array.from({ length: 3 }, () => random.below(9) - 4.25)
}

/** The values of a hit, as the groups know them. */
function valuesOf({ filter }: SearchHit): readonly Scalar[] {
  const { doc } = filter
  const list = Array.isArray(doc) ? doc : [doc]
  return [...new Set(list.filter((one): one is Scalar => ['string', 'number', 'boolean'].includes(typeof one)))]
}

/** The groups of a complete list, best first, with so many hits each. */
function groupsOf<H>(list: readonly H[], values: (hit: H) => readonly Scalar[], hits: number): Map<Scalar, H[]> {
  const groups = new Map<Scalar, H[]>()
  for (const hit of list) {
    for (const value of values(hit)) {
      const group = groups.get(value) ?? []
      groups.set(value, group.length < hits ? [...group, hit] : group)
    }
  }
  return groups
}

function idsOfGroups<H>(groups: ReadonlyMap<Scalar, readonly H[]>, idOf: (hit: H) => string): Group[] {
  return Array.from(groups, ([value, list]) => ({ value, hits: list.map(idOf) }))
}

const idOf = ({ id }: SearchHit) => id

function found(result: SearchResult, name: string): Group[] {
  return (result.groups?.[name] ?? []).map(({ value, hits }) => ({ value, hits: hits.map(idOf) }))
}

/** Each field's complete list. */
async function completeLists(collection: Collection, request: SearchRequest): Promise<SearchResult['results']> {
  const { groupBy: _, fusion: __, ...rest } = request
  const all = Object.entries(rest.fields).map(([name, query]) => [name, { ...query, limit: 512 }])
  return (await collection.search({ ...rest, fields: Object.fromEntries(all) })).results
}

function randomFilter(random: Random): { readonly filter?: Filter } {
  return random.below(3) > 0 ? {} : { filter: [{ color: { $ne: random.below(3) } }] }
}

test(`exact groups equal those of the complete list, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const collection = await openCollection(t, fields)
  await fill(collection, random)
  let [severalSearches, pages] = [0, 0]
  for (let round = 0; round < 400; round++) {
    const name = names[round % names.length] as string
    const [limit, hits, offset] = [
      1 + random.below(12),
      1 + random.below(5),
      random.below(3) === 0 ? random.below(8) : 0,
    ]
    // A coarse field without `exact` reorders estimates; everything else is exact at this size.
    const request: SearchRequest = {
      fields: { [name]: { query: queryOf(name, random), ...(random.below(4) === 0 && { scoreThreshold: -30 }) } },
      ...randomFilter(random),
      groupBy: { key: 'doc', limit, hits, ...(offset > 0 && { offset }) },
      exact: true,
      explain: true,
    }
    const lists = await completeLists(collection, request).catch((error: { readonly code: string }) => error.code)
    if (typeof lists === 'string') {
      await t.rejects(collection.search(request), { code: lists })
      continue
    }
    const result = await collection.search(request)
    const expected = idsOfGroups(groupsOf(lists[name] ?? [], valuesOf, hits), idOf).slice(offset, offset + limit)
    if (!t.strictSame(found(result, name), expected, `search ${round}: ${JSON.stringify(request)}`)) return
    const listed = new Set(result.groups?.[name]?.flatMap((group) => group.hits))
    t.strictSame(
      result.results[name],
      (lists[name] ?? []).map(({ id }) => [...listed].find((hit) => hit.id === id)).filter((hit) => hit !== undefined),
      'the hits of all groups, each once, in the order of the list',
    )
    // One hit of each group is never too few, so the further searches were for more groups.
    if (hits === 1 && (result.explain?.fields[name]?.searches ?? 0) > 1) severalSearches++
    if (offset > 0) pages++
  }
  t.comment(`${severalSearches} searched for more groups`)
  t.ok(pages > 20, `${pages} were later pages`)
})

test(`groups of fused lists, seed ${seed}`, async (t) => {
  const random = seededRandom(seed + 1)
  const collection = await openCollection(t, fields)
  await fill(collection, random)
  for (let round = 0; round < 150; round++) {
    const chosen = names.filter(() => random.below(2) === 0).filter((name) => name !== 'coarse')
    if (chosen.length < 2) continue
    const [limit, hits, offset] = [
      1 + random.below(8),
      1 + random.below(4),
      random.below(3) === 0 ? random.below(5) : 0,
    ]
    const fieldLimit = 1 + random.below(15)
    const fusion: Fusion = { method: random.below(2) === 0 ? 'rrf' : 'relative_score', limit }
    const queries = chosen.map((name) => {
      const query = queryOf(name, random)
      return [name, { query: typeof query === 'object' && 'id' in query ? { id: 'o0' } : query, limit: fieldLimit }]
    })
    const request: SearchRequest = {
      ...{ fields: Object.fromEntries(queries), ...randomFilter(random), exact: true },
      ...{ fusion, groupBy: { key: 'doc', hits, offset } },
    }
    const lists = await completeLists(collection, request).catch((error: { readonly code: string }) => error.code)
    if (typeof lists === 'string') continue
    // The list of a field: the hits of its best groups.
    const wanted = Math.max(fieldLimit, offset + limit)
    const grouped = new Map(chosen.map((name) => [name, groupsOf(lists[name] ?? [], valuesOf, hits)]))
    const chosenOf = (name: string) => new Set([...(grouped.get(name)?.keys() ?? [])].slice(0, wanted))
    const page = [...fuseGroups(chosen, chosenOf).keys()].slice(offset, offset + limit)
    // Groups of other fields complete it.
    const final = fuseGroups(chosen, (name) => new Set([...chosenOf(name), ...page]))
    const expected = [...final].filter(([value]) => page.includes(value))

    const result = await collection.search(request)
    const ids = (result.fusedGroups ?? []).map(({ value, hits: list }) => ({
      value,
      hits: list.map(({ hit }) => hit.id),
    }))
    const label = `search ${round}: ${JSON.stringify(request)}`
    if (
      !t.strictSame(
        ids,
        idsOfGroups(new Map(expected), ({ id }) => id),
        label,
      )
    )
      return
    t.strictSame(
      new Set(result.fused),
      new Set(result.fusedGroups?.flatMap((group) => group.hits)),
      'the fused list has the hits of the groups',
    )

    function fuseGroups(fieldNames: readonly string[], valuesOfField: (name: string) => ReadonlySet<Scalar>) {
      const scores = new Map<string, { readonly id: string; score: number; readonly hit: SearchHit }>()
      for (const name of fieldNames) {
        const values = valuesOfField(name)
        const own = [...(grouped.get(name) ?? [])].filter(([value]) => values.has(value)).flatMap(([, list]) => list)
        const list = (lists as SearchResult['results'])[name]?.filter((hit) => own.includes(hit)) ?? []
        const [first, last] = [list[0]?.similarity ?? 0, list.at(-1)?.similarity ?? 0]
        for (const [i, hit] of list.entries()) {
          const one = scores.get(hit.id) ?? { id: hit.id, score: 0, hit }
          const scaled = first > last ? 1 - (first - hit.similarity) / (first - last) : 1
          one.score += fusion.method === 'rrf' ? 1 / (60 + i + 1) : scaled
          scores.set(hit.id, one)
        }
      }
      const list = [...scores.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
      return groupsOf(list, ({ hit }) => valuesOf(hit), hits)
    }
  }
})

test('walks find as many groups and hits as exist, also behind a group that has all of the nearest', async (t) => {
  const collection = await openCollection(t, [
    { name: 'v', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } },
  ])
  // 6,000 near objects of one group, 2 groups of 1,500 that mix, and 20 small groups far away.
  const objects = Array.from({ length: 9_060 }, (_, i) => {
    if (i < 6_000) return { x: i / 6_000, doc: 'near' }
    if (i < 9_000) return { x: 10 + i / 3_000, doc: i % 2 === 0 ? 'even' : 'odd' }
    return { x: 100 + i, doc: `far-${i % 20}` }
  }).map(({ x, doc }, i) => ({ id: `${i}`, fields: { v: [x, 0] }, filter: { doc } }))
  for (let from = 0; from < objects.length; from += 1_000) await collection.upsert(objects.slice(from, from + 1_000))
  for (const exact of [true, false]) {
    const groupBy = { key: 'doc', limit: 23, hits: 3 }
    const { groups, explain } = await collection.search({
      ...{ fields: { v: { query: [0, 0] } }, groupBy, exact, explain: true },
    })
    t.ok((explain?.fields.v?.searches ?? 0) > 1, 'a further search leaves out the group of the nearest')
    t.equal(groups?.v?.length, 23, 'all groups')
    t.strictSame(
      groups?.v?.slice(0, 1).map(({ value }) => value),
      ['near'],
    )
    t.ok(
      groups?.v?.every(({ hits }) => hits.length === 3),
      'each with all hits',
    )
    t.strictSame(
      groups?.v?.[0]?.hits.map(({ id }) => id),
      ['0', '1', '2'],
    )
    // The groups of 1,500 are incomplete after the first search, and too large to be ranked as a whole.
    const large = await collection.search({
      ...{ fields: { v: { query: [12, 0] } }, filter: [{ doc: { $in: ['even', 'odd', 'near'] } }] },
      ...{ groupBy: { key: 'doc', limit: 3, hits: 100 }, exact, explain: true },
    })
    t.strictSame(
      large.groups?.v?.map(({ hits }) => hits.length),
      [100, 100, 100],
    )
    t.strictSame(
      large.groups?.v?.[2]?.hits.slice(0, 2).map(({ id }) => id),
      ['5999', '5998'],
    )
    // Half of what is near belongs to a group that needs more hits.
    const biased = await collection.search({
      ...{ fields: { v: { query: [0.5, 0] } }, filter: [{ doc: { $in: ['near', 'far-0'] } }] },
      ...{ groupBy: { key: 'doc', limit: 2, hits: 100 }, exact },
    })
    t.strictSame(
      biased.groups?.v?.map(({ hits }) => hits.length),
      [100, 3],
      'a group has at most the hits that exist',
    )
  }
})

test('a group that is incomplete and large is searched alone', async (t) => {
  const collection = await openCollection(t, [
    { name: 'v', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } },
  ])
  // In the nearest 512, one of ten is of the second group.
  const docOf = (i: number) => (i % 10 === 0 || i > 2_000 ? 'second' : 'first')
  const objects = Array.from({ length: 4_000 }, (_, i) => ({
    ...{ id: `${i}`, fields: { v: [i, 0] }, filter: { doc: docOf(i) } },
  }))
  for (let from = 0; from < objects.length; from += 1_000) await collection.upsert(objects.slice(from, from + 1_000))
  const groupBy = { key: 'doc', limit: 2, hits: 100 }
  const result = await collection.search({ fields: { v: { query: [0, 0] } }, groupBy, exact: true, explain: true })
  t.equal(result.explain?.fields.v?.searches, 2)
  const expected = ['first', 'second'].map((value) =>
    objects
      .filter(({ filter }) => filter.doc === value)
      .slice(0, 100)
      .map(({ id }) => id),
  )
  // The first object is of the second group.
  t.strictSame(
    result.groups?.v?.map(({ hits }) => hits.map(({ id }) => id)),
    expected.reverse(),
  )
})

test('the hits of a search are of one version while others write', async (t) => {
  const collection = await openCollection(t, [
    { name: 'v', type: 'vector', params: { dimension: 2, spaceType: 'l2', precision: 'float32' } },
  ])
  // The nearest half is one group, so the others are found by further searches. Every write changes the values of all objects.
  const docOf = (i: number, shift: number) => (i < 500 ? `near ${shift}` : `${(i + shift) % 40}`)
  const filters = (shift: number) =>
    Array.from({ length: 1_000 }, (_, i) => ({ id: `${i}`, filter: { doc: docOf(i, shift), shift } }))
  const written = await collection.upsert(filters(0).map((one, i) => ({ ...one, fields: { v: [i, 0] } })))
  const shifts = new Map([[written.lsn, 0]])
  let isDone = false
  const writing = (async () => {
    for (let shift = 1; !isDone; shift++) shifts.set((await collection.updateFilters(filters(shift))).lsn, shift)
  })()
  const request = { fields: { v: { query: [3, 0] } }, groupBy: { key: 'doc', limit: 41, hits: 2 } }
  const results: SearchResult[] = []
  while (shifts.size < 40) {
    const [one, batch] = await Promise.all([collection.search(request), collection.searchBatch([request, request])])
    results.push(one, ...batch)
    t.equal(batch[0]?.lsn, batch[1]?.lsn, 'searches of a batch are of one version')
  }
  isDone = true
  await writing
  for (const { groups, lsn } of results) {
    const list = groups?.v ?? []
    t.ok(list.length === 41 && list.every(({ hits }) => hits.length === 2), 'all groups, each with its hits')
    const shift = shifts.get(lsn) as number
    const wrong = list.flatMap(({ value, hits }) =>
      hits.filter(({ id, filter }) => filter.shift !== shift || docOf(Number(id), shift) !== value),
    )
    t.strictSame(wrong, [], `all as of ${lsn}`)
  }
})

test('as of a moment', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const collection = await engine.database().createCollection({ name: 'things', fields: fields.slice(0, 1) })
  const put = (doc: string, from: number) =>
    collection.upsert(
      Array.from({ length: 30 }, (_, i) => ({
        ...{ id: `${i}`, fields: { dense: [i + from, 0, 0] }, filter: { doc: `${doc}-${i % 10}` } },
      })),
    )
  const { lsn } = await put('a', 0)
  await put('b', 0.25)
  const request = { fields: { dense: { query: [0, 0, 0], limit: 3 } }, groupBy: { key: 'doc', hits: 2 } }
  const expected = (doc: string) => [0, 1, 2].map((i) => ({ value: `${doc}-${i}`, hits: [`${i}`, `${i + 10}`] }))
  t.strictSame(found(await collection.search(request), 'dense'), expected('b'))
  t.strictSame(found(await collection.search({ ...request, asOf: { lsn } }), 'dense'), expected('a'))
  t.strictSame(found(await (await collection.asOf({ lsn })).search(request), 'dense'), expected('a'))
})

test('a reader returns the groups of the owner', async (t) => {
  const dataDir = await openDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'things', fields })
  await fill(collection, seededRandom(seed))
  const reader = await startReader(t, engine)
  const requests: readonly SearchRequest[] = [
    { fields: { dense: { query: [1, 2, 3] } }, groupBy: { key: 'doc', limit: 4, hits: 3 } },
    {
      fields: { dense: { query: [1, 2, 3] }, sparse: { query: { indices: [1, 5], values: [1, 1] } } },
      ...{ fusion: { method: 'rrf' }, groupBy: { key: 'doc', limit: 4, hits: 3 }, includeVectors: true },
    },
  ]
  for (const request of requests) {
    const here = await collection.search(request)
    const there = (await reader.do({ kind: 'search', collection: 'things', request })) as SearchResult
    // A list that is fused is as long as the fused groups need.
    const count = here.groups?.dense?.length ?? 0
    t.ok(here.fused ? count >= 4 : count === 4, `${count} groups`)
    t.strictSame(found(there, 'dense'), found(here, 'dense'))
    const fusedIds = ({ fusedGroups }: SearchResult) => fusedGroups?.map(({ hits }) => hits.map(({ hit }) => hit.id))
    t.strictSame(fusedIds(there), fusedIds(here))
  }
})

test('bad requests name the field, the value, and the limit', async (t) => {
  const collection = await openCollection(t, fields.slice(0, 1))
  const query = { query: [0, 0, 0], limit: 200 }
  for (const [groupBy, error] of [
    [{ key: '' }, { code: 'invalid_argument', field: 'group_by.key' }],
    [{ key: 3 }, { code: 'invalid_argument', field: 'group_by.key', value: 3 }],
    [{ key: 'x'.repeat(257) }, { code: 'invalid_argument', field: 'group_by.key', limit: 256 }],
    [
      { key: 'doc', hits: 0 },
      { code: 'limit_exceeded', field: 'group_by.hits', value: 0, limit: 1 },
    ],
    [
      { key: 'doc', hits: 101 },
      { code: 'limit_exceeded', field: 'group_by.hits', value: 101, limit: 100 },
    ],
    [
      { key: 'doc', hits: 1.5 },
      { code: 'invalid_argument', field: 'group_by.hits' },
    ],
    [
      { key: 'doc', hits: 51 },
      { code: 'limit_exceeded', field: 'group_by.hits', value: 51, limit: 10_000 },
    ],
    [
      { key: 'doc', limit: 513 },
      { code: 'limit_exceeded', field: 'group_by.limit', value: 513, limit: 512 },
    ],
    [
      { key: 'doc', offset: 313 },
      { code: 'limit_exceeded', field: 'group_by.offset', value: 313, limit: 312 },
    ],
    ['doc', { code: 'invalid_argument', field: 'group_by' }],
  ] as const) {
    const request = { fields: { dense: query }, groupBy } as unknown as SearchRequest
    const { code, ...details } = error
    await t.rejects(collection.search(request), { code, details }, JSON.stringify(groupBy))
  }
  t.strictSame((await collection.search({ fields: { dense: query }, groupBy: { key: 'doc' } })).groups, { dense: [] })
})
