// Measures and the significance test against values computed by hand.
import { test } from 'tap'
import {
  compareSettings,
  meanInterval,
  measure,
  measureSettings,
  mostDifferent,
  parseSetting,
  randomizationTest,
  readJudgedQueries,
} from '../src/judging/index.ts'

const isNear = (a: number, b: number) => Math.abs(a - b) < 1e-12

test('nDCG, recall, and MRR equal hand-computed values', async (t) => {
  const grades = new Map([
    ['a', 3],
    ['b', 1],
    ['c', 2],
    ['d', 0],
    ['e', -1],
  ])
  // Gains 7, 1, 3; discounts 1, 1 / log2(3), 1 / 2.
  const ideal = 7 + 3 / Math.log2(3) + 1 / 2
  t.same(measure(['a', 'c', 'b'], grades, 10), { ndcg: 1, recall: 1, mrr: 1 }, 'the best ranking')
  const late = measure(['x', 'd', 'b', 'e', 'a'], grades, 10)
  t.ok(isNear(late.ndcg, (1 / 2 + 7 / Math.log2(6)) / ideal))
  t.ok(isNear(late.recall, 2 / 3) && isNear(late.mrr, 1 / 3))
  const cut = measure(['x', 'c', 'a'], grades, 2)
  t.ok(isNear(cut.ndcg, 3 / Math.log2(3) / (7 + 3 / Math.log2(3))), 'the ideal has k documents, too')
  t.ok(isNear(cut.recall, 1 / 3) && isNear(cut.mrr, 1 / 2))
  t.same(measure(['x', 'y', 'a'], grades, 2), { ndcg: 0, recall: 0, mrr: 0 })
  t.same(measure([], grades, 2), { ndcg: 0, recall: 0, mrr: 0 })
  t.same(measure(['a', 'a', 'c', 'b'], grades, 3), { ndcg: 1, recall: 1, mrr: 1 }, 'a repeated document counts once')
})

test('the randomization test is exact for few differences, and close to exact for many', async (t) => {
  const options = { rounds: 20_000, seed: 7 }
  // Of 8 assignments, +++ and --- are as extreme.
  t.same(randomizationTest([1, 2, 3], options), { p: 2 / 8, rounds: 8, isExact: true })
  // The sums of 1, 2, and -4 are at least 1 away from 0 in all 8 assignments.
  t.same(randomizationTest([1, 2, -4], options), { p: 1, rounds: 8, isExact: true })
  // 1, 2, and 5: sums +-8, +-6, +-4, +-2; 6 or more in 4 of 8.
  t.same(randomizationTest([-1, 2, 5], options), { p: 4 / 8, rounds: 8, isExact: true })
  t.same(randomizationTest([0, 1, 0, 2, 3], options).p, 2 / 8, 'differences of 0 say nothing')
  t.same(randomizationTest([0, 0], options), { p: 1, rounds: 1, isExact: true })
  t.same(randomizationTest([0.1, 0.2, -0.3], options).p, 1, 'sums that differ in their last digits are equal')

  // 20 equal differences: p is the probability of at least 15 equal signs of 20, twice: 2 * 21700 / 2^20.
  const many = Array.from({ length: 20 }, (_, i) => (i < 15 ? 1 : -1))
  const expected = (2 * 21_700) / 2 ** 20
  const sampled = randomizationTest(many, options)
  const error = Math.sqrt((expected * (1 - expected)) / options.rounds)
  t.ok(Math.abs(sampled.p - expected) < 5 * error, `${sampled.p}, exact ${expected}`)
  t.equal(sampled.isExact, false)
  t.same(randomizationTest(many, options), sampled, 'the same seed gives the same p')
  t.not(randomizationTest(many, { ...options, seed: 8 }).p, sampled.p)
  t.equal(randomizationTest(Array(40).fill(1), { rounds: 1_000, seed: 1 }).p, 1 / 1_001, 'p is never 0')
})

test('queries and judgments are read, and errors name the line', async (t) => {
  const file = (name: string, text: string) => ({ name, lines: text.split(/\r?\n/) })
  const queries = file(
    'q.jsonl',
    '{"id":"1","text":"one"}\n\n{"id":2,"vector":[1,2]}\n{"id":"3","fields":{"v":[1]}}\r\n',
  )
  const judged = await readJudgedQueries(
    queries,
    file('a.tsv', 'query\tdocument\tscore\n1\td1\t2\n2\td 2\t1\n3\td1\t0\n9\td1\t1\n'),
  )
  t.same(
    judged.queries.map(({ query, grades }) => [query.id, query.text, query.vector, [...grades]]),
    [
      ['1', 'one', undefined, [['d1', 2]]],
      ['2', undefined, [1, 2], [['d 2', 1]]],
    ],
  )
  t.match(judged, { unjudged: 1, missing: 1 })
  const trec = await readJudgedQueries(queries, file('b.qrels', '1 0 d1 2\n3 0 d2 1\n'))
  t.same(
    trec.queries.map(({ query, grades }) => [query.id, ...grades.keys()]),
    [
      ['1', 'd1'],
      ['3', 'd2'],
    ],
  )
  for (const [text, grades, message] of [
    ['{"id":"1"}', '1\td\n', /c\.tsv:1: a line must be query, document, and grade .*"1\\td"/],
    ['{"id":"1"}', '1\td\t1\n1\te\tx\n', /c\.tsv:2/],
    ['{"id":"1"}', '1\td\t31\n', /c\.tsv:1/],
    ['{"text":"x"}', '1\td\t1\n', /q2\.jsonl:1: a query must have an id/],
    ['[1]', '1\td\t1\n', /q2\.jsonl:1: a query must be an object/],
    ['{"id":"1"}\nx', '1\td\t1\n', /q2\.jsonl:2: not JSON/],
    ['{"id":"1"}\n{"id":"1"}', '1\td\t1\n', /q2\.jsonl:2: query 1 is in the file twice/],
    ['{"id":"1","text":3}', '1\td\t1\n', /text must be a string/],
    ['{"id":"5"}', '1\td\t1\n', /no query of .* has a relevant document/],
  ] as const)
    await t.rejects(readJudgedQueries(file('q2.jsonl', text), file('c.tsv', grades)), { message, source: 'file' })
})

test('a setting becomes the search of each query', async (t) => {
  const types = new Map([
    ['body', 'text'],
    ['v', 'vector'],
    ['made', 'embedded'],
  ] as const)
  const query = { id: '1', text: 'words', vector: [1, 2], fields: {} }
  const plain = parseSetting('--a', '{"fields":{"body":{"k1":2}},"filter":[]}', types, 10)
  t.same(plain.requestOf(query), { fields: { body: { k1: 2, limit: 10, query: 'words' } }, filter: [] })
  const fused = parseSetting(
    '--a',
    '{"fields":{"body":{},"v":{"ef_search":64,"limit":7}},"fusion":{"method":"rrf"}}',
    types,
    10,
  )
  t.same(fused.requestOf({ ...query, fields: { body: 'other' } }), {
    fields: { body: { limit: 100, query: 'other' }, v: { ef: 64, limit: 7, query: [1, 2] } },
    fusion: { limit: 10, method: 'rrf' },
  })
  const tuned = parseSetting('--a', '{"fields":{"v":{}},"filter_params":{"boost_percentage":5}}', types, 3)
  t.same(tuned.requestOf(query), { fields: { v: { limit: 3, query: [1, 2] } }, filterBoostPercentage: 5 })
  const made = parseSetting('--a', '{"fields":{"made":{}}}', types, 3)
  t.match(made.requestOf(query), { fields: { made: { query: [1, 2] } } }, 'a vector of the file comes first')
  t.match(made.requestOf({ ...query, vector: undefined }), { fields: { made: { query: { text: 'words' } } } })
  const nothing = { ...query, vector: undefined, text: undefined }
  t.throws(() => made.requestOf(nothing), { message: /query 1 has no vector, no text, and no fields\.made/ })
  t.throws(() => plain.requestOf({ ...query, text: undefined }), {
    message: /query 1 has no text, and no fields\.body/,
  })
  for (const [text, message] of [
    ['{', /--a must be a search as JSON/],
    ['{"fields":{}}', /names no field/],
    ['{"fields":{"x":{}}}', /has no field x; it has body, v, made/],
    ['{"fields":{"v":{"efs":1}}}', /fields\.v has "efs"/],
    ['{"fields":{"v":{}},"asOf":1}', /has "asOf"/],
    ['{"fields":{"v":{},"body":{}}}', /add a fusion/],
    ['{"fields":{"v":3}}', /fields\.v must be an object/],
    ['{"fields":{"v":{}},"filter_params":{"threshold":1}}', /filter_params has "threshold"/],
  ] as const)
    t.throws(() => parseSetting('--a', text, types, 10), { message, source: 'setting' })
})

test('the interval of a mean equals that of the tables of Student', async (t) => {
  // 0.1, 0.2, 0.6: mean 0.3, standard deviation sqrt(0.07); t(2) = 4.302653.
  const reach = 4.302653 * Math.sqrt(0.07 / 3)
  const { low, high } = meanInterval([0.1, 0.2, 0.6])!
  t.ok(Math.abs(low - (0.3 - reach)) < 1e-6 && Math.abs(high - (0.3 + reach)) < 1e-6)
  t.equal(meanInterval([0.5]), undefined)
  t.same(meanInterval([0.5, 0.5]), { low: 0.5, high: 0.5 })
  // Values -1 and 1 in turns: the reach is t * sqrt(n / (n - 1)) / sqrt(n).
  for (const [count, quantile] of [
    [2, 12.7062],
    [4, 3.18245],
    [6, 2.57058],
    [10, 2.26216],
    [30, 2.04523],
    [100, 1.98422],
  ] as const) {
    const values = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? 1 : -1))
    const found = meanInterval(values)!.high * Math.sqrt(count - 1)
    t.ok(Math.abs(found / quantile - 1) < 0.002, `${count}: ${found}`)
  }
})

test('two settings take turns, report progress, stop when they are canceled, and are compared', async (t) => {
  const queries = Array.from({ length: 45 }, (_, i) => ({
    query: { id: `q${i}`, text: `${i}`, vector: undefined, fields: {} },
    grades: new Map([['good', 1]]),
  }))
  const types = new Map([['body', 'text']] as const)
  const a = parseSetting('A', '{"fields":{"body":{}}}', types, 2)
  const b = parseSetting('B', '{"fields":{"body":{"k1":2}}}', types, 2)
  const groups: [number, boolean][] = []
  // A finds the document second; B finds it first, and for every third query not at all.
  const searchMany = async (requests: readonly { readonly fields: object }[]) => {
    const bodies = requests.map(({ fields }) => (fields as { body: { k1?: number; query: string } }).body)
    groups.push([requests.length, bodies[0]?.k1 !== undefined])
    return bodies.map(({ k1, query }) => {
      const ids = k1 === undefined ? ['bad', 'good', 'cut'] : Number(query) % 3 === 0 ? [] : ['good']
      const hits = ids.map((id) => ({ id, similarity: 1, distance: 0, filter: {}, meta: {} }))
      return { results: { body: hits }, complete: true, lsn: 1 }
    })
  }
  const steps: string[] = []
  const options = { k: 2, onProgress: (done: number, total: number) => void steps.push(`${done}/${total}`) }
  const judged = { queries, unjudged: 0, missing: 0 }
  const measured = await measureSettings(searchMany as never, judged, { a, b }, options)
  t.same(steps, ['0/45', '20/45', '40/45', '45/45'])
  t.same(
    groups.map(([, isB]) => isB),
    [false, true, false, true, false, true],
  )
  t.same(measured[1], {
    ...queries[1],
    a: { ranking: ['bad', 'good'], ndcg: 1 / Math.log2(3), recall: 1, mrr: 1 / 2 },
    b: { ranking: ['good'], ndcg: 1, recall: 1, mrr: 1 },
  })
  const { ndcg, recall } = compareSettings(measured, { rounds: 1_000, seed: 1 })
  t.match(ndcg, { better: 30, worse: 15, equal: 0 })
  t.match(recall, { better: 0, worse: 15, equal: 30, difference: -1 / 3 })
  t.ok(recall.interval!.high < 0 && recall.p < 0.01)
  const [first, ...others] = mostDifferent(measured, 16)
  t.equal(first?.query.id, 'q0', 'a document that B does not find is the largest difference')
  t.equal(others.at(-1)?.query.id, 'q1')

  const abort = new AbortController()
  const canceled = measureSettings(
    searchMany as never,
    judged,
    { a, b },
    {
      ...options,
      signal: abort.signal,
      onProgress: () => abort.abort(),
    },
  )
  groups.length = 0
  await t.rejects(canceled, { name: 'AbortError' })
  t.ok(groups.length <= 2)
})
