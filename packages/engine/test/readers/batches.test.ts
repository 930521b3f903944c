// A reader runs batches of searches as their owner does: several fields and their fusion, sparse fields with and without weights by rarity, texts,
// fields with several vectors, stored objects as queries, candidates ordered by original vectors, and the vectors of hits; all on one version, bit for bit.
import { type Collection, type Engine, openEngine, type SearchRequest } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { plainResults, type ReaderThread, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
const dimension = 16
const cosine = { dimension, spaceType: 'cosine' } as const
const l2 = { dimension, spaceType: 'l2' } as const
const fields = [
  { name: 'whole', type: 'vector', params: { ...cosine, precision: 'float32' } },
  { name: 'small', type: 'vector', params: { ...l2, precision: 'int8' } },
  { name: 'lost', type: 'vector', params: { dimension, spaceType: 'ip', precision: 'int8', keepOriginals: false } },
  { name: 'bits', type: 'vector', params: { ...cosine, precision: (['binary', 'int4', 'int2'] as const)[seed % 3]! } },
  { name: 'words', type: 'sparse', params: { model: (['default', 'endee_bm25'] as const)[(seed >>> 2) % 2]! } },
  { name: 'body', type: 'text', params: { language: 'english' } },
  { name: 'pages', type: 'multi_vector', params: { ...cosine, precision: 'int8' } },
  { name: 'parts', type: 'multi_vector', params: { ...l2, precision: 'float32', pooling: 'max' } },
] as const
/** Some are in most texts, and some in one. */
function pickWord(random: Random): string {
  const common = ['walk', 'walking', 'the', 'dog', 'grün', '中文']
  return random.below(3) === 0 ? `word${random.below(1 + random.below(3_000))}` : (common[random.below(6)] as string)
}

/** Some indices are in most objects, and some in one. */
const indicesMax = 40_000

async function open(t: Test): Promise<Engine> {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  return engine
}

/**
 * Files are opened by the first search that needs them, which is left to the owner, and after a read that took long, so are the next
 * searches.
 */
const attempts = 60

async function searchHere(reader: ReaderThread, requests: readonly SearchRequest[], bytesMax?: number) {
  for (let attempt = 1; ; attempt++) {
    const call = { kind: 'batchHere', collection: 'things', requests } as const
    const found = await reader.do({ ...call, ...(bytesMax !== undefined && { bytesMax }) })
    if (found !== undefined || attempt === attempts) return found
  }
}

/** Whether the reader ran the searches. */
async function compare(t: Test, reader: ReaderThread, things: Collection, requests: readonly SearchRequest[]) {
  const found = await searchHere(reader, requests)
  if (found === undefined) return false
  const expected = plainResults(await things.searchBatch(requests as never))
  // Only failures are reported, because there are many comparisons.
  if (!Buffer.from(JSON.stringify(found)).equals(Buffer.from(JSON.stringify(expected))))
    t.strictSame(found, expected, JSON.stringify(requests))
  return true
}

test(`random batches have the results of the owner (ANNAL_SEED=${seed})`, async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const things = await engine.database().createCollection({ name: 'things', fields })
  const random = seededRandom(seed)
  const vector = (): number[] => {
    const scale = [1, 1, 3, 0][random.below(random.below(8) === 0 ? 4 : 3)] as number
    return Array.from({ length: dimension }, (_, i) => ((i === 0 ? 0.7 : 0) + random.next() - 0.5) * scale)
  }
  const members = () => Array.from({ length: 1 + random.below(4) }, vector)
  const words = () => {
    const count = 1 + random.below(24)
    const indices = [...new Set(Array.from({ length: count }, () => random.below(1 + random.below(indicesMax))))]
    return { indices, values: indices.map(() => random.next() * 2 - (random.below(8) === 0 ? 1 : 0)) }
  }
  const text = (most: number) => Array.from({ length: random.below(most) }, () => pickWord(random)).join(' ')
  const kinds = { vector, sparse: words, text: () => text(12), multi_vector: members }
  const values: { readonly [name: string]: () => unknown } = Object.fromEntries(
    fields.map(({ name, type }) => [name, kinds[type]]),
  )
  const textQuery = () => {
    const operator = random.below(2) === 0 ? 'and' : 'or'
    const options = random.below(4) === 0 ? { k1: random.next() * 2, b: random.next() } : {}
    if (random.below(3) > 0) return { query: text(4), operator, ...options }
    const clause = () => (random.below(2) === 0 ? text(3) : { words: text(4), operator, boost: random.next() * 2 })
    const others = [{}, { should: [{ phrase: text(4) }] }, { mustNot: [text(2)] }][random.below(5)] ?? {}
    return { query: { must: [clause()], should: [clause(), clause()], ...others }, ...options }
  }
  const idOf = () => `${['a', 'ä', '\ufeffmark'][random.below(3)]}${random.below(800)}`
  const someFields = () => {
    const names = fields.map(({ name }) => name).filter(() => random.below(4) > 0)
    return Object.fromEntries([...names, 'whole'].map((name) => [name, values[name]?.()]))
  }
  const write = (count: number, round: number) =>
    things.upsert(
      [...new Set(Array.from({ length: count }, idOf))].map((id, i) => ({
        id,
        ...(i % 3 === 0 ? {} : { meta: { round, text: 'x'.repeat(random.below(100)) } }),
        ...(i % 4 === 0 ? {} : { filter: { third: random.below(3), round } }),
        fields: someFields(),
      })) as never,
    )
  const request = (): SearchRequest => {
    const names = [
      ...new Set(
        Array.from(
          { length: random.below(3) === 0 ? 1 + random.below(3) : 1 },
          () => fields[random.below(fields.length)]!.name,
        ),
      ),
    ]
    const queries = names.map((name) => {
      const isStored = random.below(3) === 0
      const query = isStored ? { id: idOf() } : values[name]?.()
      return [
        name,
        {
          ...(name === 'body' && !isStored ? textQuery() : { query }),
          limit: 1 + random.below(12),
          ...(random.below(2) === 0 && { ef: 1 + random.below(200) }),
          ...(random.below(4) === 0 && { scoreThreshold: random.next() - 0.5 }),
        },
      ]
    })
    const filter = [[{ third: { $eq: random.below(4) } }], [{ round: { $lt: 5 } }], []][random.below(3)]
    return {
      fields: Object.fromEntries(queries),
      ...(random.below(2) === 0 && { filter }),
      ...(random.below(3) === 0 && { includeVectors: true }),
      ...(random.below(24) === 0 && { includeTexts: true }),
      ...(random.below(3) === 0 && { rescore: random.below(2) === 0 }),
      ...(random.below(12) === 0 && { exact: true }),
      ...(random.below(12) === 0 && { explain: true }),
      ...(random.below(8) === 0 && { prefilterCardinalityThreshold: 1_000 }),
      ...(random.below(8) === 0 && { filterBoostPercentage: 50 }),
      ...(names.length > 1 &&
        random.below(2) === 0 && {
          fusion: {
            method: random.below(2) === 0 ? 'rrf' : 'relative_score',
            limit: 5,
            ...(random.below(2) === 0 && { weights: { [names[0]!]: random.next() } }),
          },
        }),
    } as SearchRequest
  }
  const counts = { ran: 0, left: 0, sparse: 0, texts: 0, hybrid: 0 }
  for (let round = 0; round < (isLong ? 300 : 6); round++) {
    const kind = round < 3 ? 0 : random.below(10)
    if (kind < 5) await write(round < 3 ? 400 : 1 + random.below(100), round)
    else if (kind < 7) await things.delete(Array.from({ length: 60 }, idOf))
    else if (kind < 8)
      await things.updateFilters(
        [...new Set(Array.from({ length: 40 }, idOf))].map((id) => ({ id, filter: { third: 1, updated: round } })),
      )
    else if (kind < 9) await things.rebuild({ small: { M: 4 + random.below(8) } })
    else await things.vacuum()
    for (let i = 0; i < 25; i++) {
      const requests = Array.from({ length: random.below(3) === 0 ? 1 + random.below(5) : 1 }, request)
      const valid = await things.searchBatch(requests as never).then(
        () => true,
        () => false,
      )
      if (!valid) t.equal(await searchHere(reader, requests), undefined, 'an error is left to the owner')
      else if (await compare(t, reader, things, requests)) {
        counts.ran++
        for (const { fields: searched } of requests) {
          if ('body' in searched) counts.texts++
          if ('words' in searched) counts[Object.keys(searched).length === 1 ? 'sparse' : 'hybrid']++
        }
      } else counts.left++
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.sparse > 3 && counts.hybrid > 0, 'searches of sparse fields ran in the reader')
  t.ok(counts.texts > 2, 'searches of texts ran in the reader')
  t.ok(counts.ran > 2 * counts.left, `${counts.ran} batches ran in the reader, ${counts.left} were left to the owner`)
})

test('what would take long or much is left to the owner', async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const wide = 1_024
  const things = await engine.database().createCollection({
    name: 'things',
    fields: [
      { name: 'v', type: 'vector', params: { dimension: wide, spaceType: 'l2', precision: 'float32' } },
      { name: 'pages', type: 'multi_vector', params: { dimension: wide, spaceType: 'l2', precision: 'int8' } },
      { name: 'words', type: 'sparse' },
    ],
  })
  const vector = (i: number) => Float32Array.from({ length: wide }, (_, j) => Math.sin(i * 31 + j))
  const terms = (count: number) => ({
    indices: Array.from({ length: count }, (_, i) => i),
    values: Array(count).fill(1),
  })
  await things.upsert(
    Array.from({ length: 300 }, (_, i) => ({
      id: `${i}`,
      meta: { text: 'x'.repeat(500) },
      filter: { i },
      fields: {
        v: vector(i),
        pages: Array.from({ length: 8 }, (_, j) => vector(10 * i + j)),
        ...(i >= 200 && { words: terms(900) }),
      },
    })) as never,
  )
  const plain = { fields: { v: { query: vector(1), limit: 5 } } }
  const sparse = (count: number, limit: number) => ({ fields: { words: { query: terms(count), limit } } })
  const ran = async (requests: readonly SearchRequest[], bytesMax?: number) =>
    (await searchHere(reader, requests, bytesMax)) !== undefined
  t.ok(await ran([plain]))
  t.notOk(await ran([]), 'no search')
  t.notOk(await ran([plain], 2_000), 'more bytes than wanted')
  t.ok(await ran([{ ...plain, includeVectors: true }], 40_000))
  t.notOk(await ran([{ ...plain, includeVectors: true }], 20_000), 'vectors are bytes, too')
  t.ok(await ran(Array.from({ length: 20 }, () => plain)))
  const long = { ...plain, exact: true }
  t.ok(await ran([long]))
  t.notOk(await ran(Array.from({ length: 20 }, () => long)), 'a long batch')
  const filtered = (i: number) => ({ ...plain, filter: [{ i: { $gt: i } }] })
  t.ok(await ran(Array.from({ length: 8 }, (_, i) => filtered(i))))
  t.notOk(await ran(Array.from({ length: 9 }, (_, i) => filtered(i))), 'many filters')
  t.ok(await ran([sparse(100, 10)]))
  t.notOk(await ran([sparse(900, 10)]), 'a query of many terms')
  t.notOk(await ran([sparse(2, 4_000)]), 'many hits')
  t.notOk(await ran(Array.from({ length: 40 }, () => sparse(300, 10))), 'many postings')
  const pages = (count: number) => ({
    fields: { pages: { query: Array.from({ length: count }, (_, i) => vector(i)), limit: 2, ef: 8 } },
  })
  let hasRun = false
  // A read that waits for the core looks like one that waits for the disk.
  for (let turn = 0; turn < 100 && !hasRun; turn++) hasRun = await ran([pages(1)] as never)
  t.ok(hasRun)
  t.notOk(await ran([pages(64)] as never), 'many comparisons of members')
})
