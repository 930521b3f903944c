// The parts that compute and do not render, and the files of the build.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { ChangedValues } from '@annal/client'
import { test } from 'tap'
import { curesIn } from '../build/cures.ts'
import type { Field } from '../src/api/collections.ts'
import { rowsOf as branchRowsOf } from '../src/pages/branches/branch-tree.ts'
import { languages } from '../src/pages/collections/languages.ts'
import { bodyExample, callsOf, matching, propertiesOf } from '../src/pages/console/calls.ts'
import { filterOf, literal, literalText, missingIn, newRow, rowsOf } from '../src/pages/filter/filter-draft.ts'
import { clusterWords } from '../src/pages/map/cluster-words.ts'
import { coloringBy } from '../src/pages/map/coloring.ts'
import { nearestRows } from '../src/pages/map/nearest-rows.ts'
import { principal } from '../src/pages/map/pca.ts'
import { inside, nearest, toScreen, zoomed } from '../src/pages/map/view.ts'
import { batchesOf, exampleObjects, objectsIn } from '../src/pages/objects/objects-in.ts'
import { diffOf } from '../src/pages/objects/version-diff.ts'
import { readMetrics } from '../src/pages/operations/metrics-text.ts'
import { quantile } from '../src/pages/operations/quantile.ts'
import { servingThreads } from '../src/pages/operations/serving-threads.ts'
import { bodyOf, draftOf } from '../src/pages/search/draft.ts'
import { measureOf, shownOf } from '../src/pages/search/measure.ts'
import { snippet } from '../src/pages/search/snippets.ts'
import { jsonPieces } from '../src/parts/json-pieces.ts'
import { beginningOf, piecesOf } from '../src/parts/text-pieces.ts'
import { visible, visibleName } from '../src/parts/visible.ts'
import { bytesIn, byteUnit, msIn, scoresIn, secondsUnit } from '../src/show.ts'

test('rows produce a filter, and the filter parses back into rows', (t) => {
  const rows = [
    newRow('color', '$in', 'red, "1", 2'),
    newRow('size', '$range', '1, 9.5'),
    newRow('open', '$eq', 'true'),
    newRow('note', '$exists', 'false'),
    newRow('name', '$ne', '"true"'),
  ]
  const filter = filterOf({ kind: 'rows', rows })
  t.strictSame(filter, [
    { color: { $in: ['red', '1', 2] } },
    { size: { $range: [1, 9.5] } },
    { open: { $eq: true } },
    { note: { $exists: false } },
    { name: { $ne: 'true' } },
  ])
  const again = rowsOf(filter)
  t.strictSame(again && filterOf(again), filter)
  t.equal(rowsOf([{ $or: [] }]), undefined, 'more than rows can express')
  for (const value of ['red', '1', 'true', 'a, b', 1.5, true, '']) t.equal(literal(literalText(value)), value)
  t.throws(() => filterOf({ kind: 'text', text: '{"a":1}' }), /array of conditions/)
  t.throws(() => filterOf({ kind: 'text', text: '[{"a"' }), /not JSON yet/)
  t.end()
})

test('a row that lacks something is not a condition yet', (t) => {
  const complete = [
    newRow('color', '$eq', '""'),
    newRow('size', '$gt', '-1'),
    newRow('day', '$range', '2026-05-01, 2026-06-01T10:00:00Z'),
    newRow('note', '$exists'),
  ]
  const unfinished = [
    newRow('', '$eq', 'red'),
    newRow('color', '$eq', ' '),
    newRow('color', '$eq', '"re'),
    newRow('color', '$in', ','),
    newRow('size', '$gt', '-'),
    newRow('size', '$lte', 'ten'),
    newRow('size', '$range', '1'),
    newRow('size', '$range', '1, 2, 3'),
    newRow('size', '$range', '1, x'),
  ]
  for (const row of complete) t.equal(missingIn(row), undefined, row.text)
  for (const row of unfinished) t.match(missingIn(row), /^(a|two) /, row.text)
  t.strictSame(filterOf({ kind: 'rows', rows: [...unfinished, ...complete] }), [
    { color: { $eq: '' } },
    { size: { $gt: -1 } },
    { day: { $range: ['2026-05-01', '2026-06-01T10:00:00Z'] } },
    { note: { $exists: true } },
  ])
  t.end()
})

test('the numbers of a column have one format', (t) => {
  const scores = scoresIn([0.98341, 0.5, -0.25])
  t.strictSame([0.98341, 0.5, -0.25, -0.000001].map(scores), ['0.9834', '0.5000', '-0.2500', '0.0000'])
  t.strictSame([1234.5678, 2].map(scoresIn([1234.5678, 2])), ['1,234.6', '2.0'])
  t.strictSame([12, 4].map(scoresIn([12, 4])), ['12', '4'])
  t.strictSame([70 * 1024, 10.8 * 1024 ** 2].map(bytesIn([70 * 1024, 10.8 * 1024 ** 2])), ['70.0 KiB', '11,059.2 KiB'])
  t.strictSame([10, 3 * 1024 ** 3].map(bytesIn([10, 3 * 1024 ** 3])), ['< 0.1 MiB', '3,072.0 MiB'])
  t.strictSame([0, 0].map(bytesIn([0, 0])), ['0 B', '0 B'])
  t.strictSame([0.04, 12.34].map(msIn([0.04, 12.34])), ['0.0 ms', '12.3 ms'])
  t.end()
})

test('the values of an axis have one format', (t) => {
  const mebibytes = [0, 256, 512, 1_024].map((value) => value * 1_024 ** 2)
  t.strictSame(mebibytes.map(byteUnit.axis!(mebibytes)), ['0 MiB', '256 MiB', '512 MiB', '1,024 MiB'])
  t.strictSame([0, 2 ** 31].map(byteUnit.axis!([0, 2 ** 31])), ['0 GiB', '2 GiB'])
  t.strictSame([0].map(byteUnit.axis!([0])), ['0 B'])
  t.strictSame([0, 0.0005, 0.001].map(secondsUnit.axis!([0, 0.0005, 0.001])), ['0.00 ms', '0.50 ms', '1.00 ms'])
  t.end()
})

test('every character of a name can be seen', (t) => {
  t.equal(visibleName('a\u202eb\nc\td\u0007'), 'a\\u202eb\\nc\\td\\u0007')
  t.equal(visibleName(' \u05e9\u05dc\u05d5\u05dd'), ' \u05e9\u05dc\u05d5\u05dd')
  t.end()
})

test('a hit has the number that its field is compared by', (t) => {
  const field = (type: string, space: string) =>
    ({ name: 'f', type, params: { space_type: space } }) as unknown as Field
  const [l2, cosine] = [measureOf(field('vector', 'l2')), measureOf(field('vector', 'cosine'))]
  t.strictSame([l2.name, l2.isDistance, shownOf(-4, l2)], ['Squared distance', true, 4])
  t.ok(Object.is(shownOf(-0, l2), 0))
  t.strictSame([cosine.name, shownOf(0.5, cosine)], ['Cosine similarity', 0.5])
  t.equal(measureOf(field('vector', 'ip')).name, 'Inner product')
  t.equal(measureOf(field('multi_vector', 'l2')).name, 'Mean of the best: squared distance')
  t.end()
})

test('JSON is cut into texts and what is around them, and stays the same JSON', (t) => {
  const value = { 'a\u202e': ['x"y', 1.5, null, { deep: [] }], b: true }
  const pieces = jsonPieces(value, Number.POSITIVE_INFINITY)
  t.strictSame(JSON.parse(pieces.map(({ text }) => text).join('')), value)
  t.strictSame(
    pieces.filter(({ isText }) => isText).map(({ text }) => text),
    ['a\\u202e', 'x\\"y', 'deep', 'b'],
  )
  const cut = jsonPieces(value, 12)
    .map(({ text }) => text)
    .join('')
  t.match(cut, /…$/)
  t.ok(cut.length <= 13, cut)
  t.equal(visible('a\u2067\u0007\n👩\u200d👧'), 'a\\u2067\\u0007\n👩\u200d👧')
  t.end()
})

test('a version differs from another by what all writes in between changed', (t) => {
  const changes = (meta: ChangedValues, fields: readonly string[] = []) => ({ meta, filter: {}, fields })
  const versions = [
    { lsn: 3, kind: 'earlier', exists: true },
    { lsn: 5, kind: 'written', exists: true, changes: changes({ a: { before: 1, after: 2 }, b: { after: 1 } }) },
    {
      lsn: 9,
      kind: 'written',
      exists: true,
      changes: changes({ a: { before: 2, after: 3 }, b: { before: 1 } }, ['v']),
    },
    { lsn: 11, kind: 'written', exists: true, changes: changes({ a: { before: 3, after: 1 } }) },
  ] as const
  const a = (before: number, after: number) => ({ key: 'meta.a', before, after })
  t.match(diffOf(versions, 3, 9), { values: [a(1, 3)], fields: ['v'], known: true })
  t.strictSame(diffOf(versions, 5, 9).values, [a(2, 3), { key: 'meta.b', before: 1, after: undefined }])
  t.strictSame(diffOf(versions, 3, 11).values, [], 'a value that returned is the same')
  t.strictSame(diffOf(versions, 5, 5), { values: [], fields: [], metaBytes: false, known: true })
  t.equal(diffOf(versions, 0, 5).known, false)
  t.end()
})

test('branches are placed below their parents, however deep and in whatever order', (t) => {
  const branch = (id: number, parentId?: number) => ({
    ...{ id, name: `b${id}`, createdAt: new Date(0) },
    ...(parentId !== undefined && { parentId }),
  })
  const rows = branchRowsOf([branch(1), branch(2, 1), branch(3, 1), branch(4, 2), branch(5, 99)])
  t.strictSame(
    rows.map(({ branch: { id }, column, parentRow }) => [id, column, parentRow]),
    [
      [1, 0, undefined],
      [2, 1, 0],
      [4, 2, 1],
      [3, 1, 0],
      [5, 0, undefined],
    ],
  )
  const chain = Array.from({ length: 2_000 }, (_, i) => branch(i, i === 0 ? undefined : i - 1))
  t.equal(branchRowsOf(chain).at(-1)?.column, 1_999)
  t.end()
})

test('objects are parsed from JSON, JSON Lines and a reply, and are split into batches', (t) => {
  t.strictSame(objectsIn('{"id":"a"}'), [{ id: 'a' }])
  t.strictSame(objectsIn('[{"id":"a"},{"id":"b"}]'), [{ id: 'a' }, { id: 'b' }])
  t.strictSame(objectsIn('{"id":"a"}\n\n{"id":"b"}\n'), [{ id: 'a' }, { id: 'b' }])
  t.strictSame(objectsIn('{"objects":[{"id":"a"}]}'), [{ id: 'a' }])
  t.throws(() => objectsIn('{"id":"a"}\nnonsense'), /line 2 is not JSON/)
  const many = Array.from({ length: 1_201 }, (_, i) => ({ id: String(i) }))
  t.strictSame(
    [...batchesOf(many)].map((batch) => batch.length),
    [500, 500, 201],
  )
  const fields = [
    {
      name: 'v',
      type: 'vector',
      params: { dimension: 3, space_type: 'l2', precision: 'int8', M: 16, ef_con: 128 },
      element_count: 0,
    },
  ] as const
  t.equal(objectsIn(exampleObjects(fields, 4)).length, 4)
  t.end()
})

test('snippets are programs without a token', (t) => {
  const body = { fields: { v: { query: [1, 2], limit: 3 } }, exact: true, filter: [{ a: { $eq: "it's null, true" } }] }
  const source = { origin: 'http://h', collection: 'c d', body, withToken: true }
  const python = snippet('Python', source)
  t.match(python, '"exact": True')
  t.match(python, '"it\'s null, true"', 'keywords inside strings stay')
  t.match(python, '"query": [1, 2]')
  t.match(snippet('TypeScript', source), 'exact": true')
  const curl = snippet('curl', source)
  t.match(curl, "/api/v2/collection/c%20d/search'")
  t.match(curl, "it'\\''s")
  for (const language of ['curl', 'TypeScript', 'Python'] as const) t.match(snippet(language, source), 'ANNAL_TOKEN')
  t.end()
})

test('paths match their calls, and example bodies have the required properties', (t) => {
  const operation = { operationId: 'x', summary: 's' }
  const calls = callsOf({
    paths: { '/c/{name}': { get: operation }, '/c/list': { get: operation }, '/c/{name}/x': { post: operation } },
  })
  t.equal(matching(calls, 'GET', '/c/list')?.template, '/c/list')
  t.equal(matching(calls, 'GET', '/c/other?x=1')?.template, '/c/{name}')
  t.equal(matching(calls, 'POST', '/c/a/x')?.template, '/c/{name}/x')
  t.equal(matching(calls, 'GET', '/c/a/b'), undefined)
  const schema = {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { type: 'array', items: { type: 'string' } }, b: { type: 'integer' }, c: { type: 'string' } },
  }
  t.strictSame(bodyExample(schema), { a: [''], b: 1 })
  t.end()
})

test('example bodies and their properties follow references, choices and maps, and end where a schema has itself', (t) => {
  const schemas = {
    Fields: { type: 'array', items: { $ref: '#/components/schemas/Field' } },
    Field: {
      anyOf: [
        {
          type: 'object',
          required: ['type'],
          properties: {
            type: { type: 'string', const: 'text' },
            language: { type: 'string', description: 'Its language.' },
          },
        },
        { type: 'object', properties: { inner: { $ref: '#/components/schemas/Field' } } },
      ],
    },
  }
  const body = {
    type: 'object',
    required: ['fields', 'more'],
    properties: {
      fields: { $ref: '#/components/schemas/Fields' },
      more: { type: 'object', additionalProperties: { type: 'integer' } },
    },
  }
  t.strictSame(bodyExample(body, schemas), { fields: [{ type: 'text' }], more: { name: 1 } })
  const properties = propertiesOf(body, schemas)
  t.strictSame(
    properties.map(({ path }) => path),
    ['fields', 'fields[].type', 'fields[].language', 'fields[].inner', 'more'],
  )
  t.match(properties[2], { type: 'string', description: 'Its language.', required: false })
  t.end()
})

test('a text field is searched by words or clauses, and the request has what was entered', (t) => {
  const params = { language: 'english', analyzer: 1, k1: 1.2, b: 0.75 }
  const collection = {
    ...{ name: 'texts', created_at: 0, total_elements: 0, lsn: 1, condition: 'ready' as const },
    fields: [{ name: 'body', type: 'text' as const, params, element_count: 0 }],
  }
  const draft = draftOf(collection)
  const withField = (to: object) => ({ ...draft, fields: { body: { ...draft.fields.body!, ...to } } })
  const fieldOf = (to: object) => bodyOf(withField(to), draft.settings, collection.fields).fields.body
  t.strictSame(fieldOf({ text: 'red fox' }), { query: 'red fox', limit: 10, highlight: true })
  t.match(fieldOf({ text: 'red fox', operator: 'and' }), { operator: 'and' })
  const clauses = { must: [{ phrase: 'red fox', slop: 1 }], must_not: ['dog'] }
  const byClauses = fieldOf({ by: 'clauses', clauses: JSON.stringify(clauses), operator: 'and' })
  t.strictSame(byClauses, { query: clauses, limit: 10, highlight: true })
  t.throws(() => fieldOf({ text: ' ' }), /enter the words/)
  for (const text of ['', '[1]', '"red"', 'null', '{'])
    t.throws(() => fieldOf({ by: 'clauses', clauses: text }), /enter the clauses as JSON/)
  const dense = {
    dimension: 3,
    space_type: 'cosine',
    precision: 'int8',
    M: 16,
    ef_con: 128,
    embed: { provider: 'p', from: 'body' },
  }
  const embedded = [{ name: 'body', type: 'vector' as const, params: dense, element_count: 0 }]
  const byMeaning = bodyOf(withField({ text: 'red fox', by: 'words' }), draft.settings, embedded)
  t.strictSame(byMeaning.fields.body, { query: { text: 'red fox' }, limit: 10 }, 'a provider makes the vector')
  const source = { origin: 'http://h', collection: 'texts', withToken: false }
  const body = bodyOf(withField({ text: `it's "red"`, operator: 'and' }), draft.settings, collection.fields)
  t.match(snippet('curl', { ...source, body }), `"query":"it'\\''s \\"red\\""`)
  t.match(snippet('TypeScript', { ...source, body }), `"query": "it's \\"red\\""`)
  t.match(snippet('Python', { ...source, body }), '"highlight": True')
  t.end()
})

test('fragments are split at their marked words, and cut texts end with a whole character', (t) => {
  t.strictSame(
    piecesOf('a red fox', [
      [2, 5],
      [3, 4],
      [6, 9],
      [8, 20],
    ]).map(({ text, marked }) => (marked ? `[${text}]` : text)),
    ['a ', '[red]', ' ', '[fox]'],
  )
  t.strictSame(piecesOf('', []), [])
  t.equal(beginningOf('abc', 3), 'abc')
  t.equal(beginningOf('ab\u{1f98a}c', 3), 'ab', 'never half of a surrogate pair')
  t.equal(beginningOf('ab\u{1f98a}c', 4), 'ab\u{1f98a}')
  t.end()
})

test('the languages that can be chosen are those of the server', async (t) => {
  const { languages: known, noLanguage } = await import('../../engine/src/text/language-table.ts')
  t.strictSame([...languages], [noLanguage, ...known.map(({ name }) => name)])
})

test('metrics are parsed, and quantiles are computed from buckets', (t) => {
  t.strictSame(readMetrics('# HELP x y\na_total{m="G\\"E\\nT",s="2"} 5\nb 0.5\n'), [
    { name: 'a_total', labels: { m: 'G"E\nT', s: '2' }, value: 5 },
    { name: 'b', labels: {}, value: 0.5 },
  ])
  const buckets = [
    [1, 50],
    [2, 100],
    [Number.POSITIVE_INFINITY, 100],
  ] as const
  t.equal(quantile(buckets, 0.5), 1)
  t.equal(quantile(buckets, 0.75), 1.5)
  t.equal(quantile([[1, 0]], 0.5), undefined)
  t.end()
})

test('serving threads are read from the metrics, and the main thread may have no connections', (t) => {
  const text = [
    'annal_thread_requests_total{thread="main"} 7',
    'annal_thread_requests_total{thread="0"} 90',
    'annal_thread_searches_total{thread="main"} 2',
    'annal_thread_searches_total{thread="0"} 80',
    'annal_thread_connections{thread="0"} 3',
    'annal_thread_connections_moved_total{thread="0"} 1',
  ]
  t.strictSame(servingThreads(readMetrics(text.join('\n'))), [
    { thread: 'main', requests: 7, searches: 2, connections: undefined, moved: undefined },
    { thread: '0', requests: 90, searches: 80, connections: 3, moved: 1 },
  ])
  t.strictSame(servingThreads([]), [])
  t.end()
})

test('the map separates clusters and selects the object under the pointer', (t) => {
  const rows = Array.from({ length: 40 }, (_, i) =>
    Float32Array.from([i % 2 === 0 ? 5 : -5, Math.sin(i), Math.cos(i) / 2, 0]),
  )
  const flat = principal(rows, 2)
  const sides = new Set(rows.map((_, i) => `${i % 2}${Math.sign(flat[2 * i]!)}`))
  t.equal(sides.size, 2, 'the strongest direction separates both halves')
  const size = { width: 400, height: 400 }
  const view = { x: 0, y: 0, zoom: 1 }
  const points = Float32Array.from([0, 0, 1, 1])
  t.equal(nearest(points, { x: 200, y: 200 }, view, size, 5), 0)
  t.equal(nearest(points, { x: 300, y: 300 }, view, size, 5), undefined)
  t.strictSame(
    inside(
      points,
      [
        { x: 150, y: 150 },
        { x: 250, y: 150 },
        { x: 250, y: 250 },
        { x: 150, y: 250 },
      ],
      view,
      size,
    ),
    [0],
  )
  const corner = toScreen(1, 1, view, size)
  const near = toScreen(1, 1, zoomed(view, 3, corner, size), size)
  t.ok(Math.hypot(near.x - corner.x, near.y - corner.y) < 1e-9, 'the point under the pointer stays fixed while zooming')
  const objects = Array.from({ length: 18 }, (_, i) => i + 1).map((year) => ({
    id: String(year),
    filter: { year, kind: year < 5 ? 'a' : 'b' },
  }))
  t.equal(coloringBy(objects, 'kind').legend.length, 2)
  t.equal(new Set(coloringBy(objects, 'year').colors).size, 6, 'keys with many numbers use a gradient')
  t.end()
})

test('clusters are labeled with the words that their texts have and the others have not', (t) => {
  const subjects = [
    ['the whale swims in the ocean', [-0.9, -0.9]],
    ['the engine of the train', [0.9, 0.9]],
    ['海里的鲸鱼 the', [0.9, -0.9]],
  ] as const
  const all = Array.from({ length: 60 }, (_, i) => ({ i, subject: subjects[i % 3]! }))
  const points = Float32Array.from(
    all.flatMap(({ i, subject: [, [x, y]] }) => [x + Math.sin(i) * 0.02, y + Math.cos(i) * 0.02]),
  )
  const texts = all.map(({ subject: [text] }) => text)
  const labels = clusterWords(points, texts)
  const near = (x: number, y: number) =>
    labels.filter((label) => Math.hypot(label.x - x, label.y - y) < 0.1).flatMap(({ words }) => words)
  t.ok(near(-0.9, -0.9).includes('whale') && near(-0.9, -0.9).includes('ocean'))
  t.ok(near(0.9, 0.9).includes('engine') && near(0.9, 0.9).includes('train'))
  t.ok(near(0.9, -0.9).length > 0, 'scripts without spaces have words, too')
  t.notOk(
    labels.some(({ words }) => words.includes('the')),
    'what all texts have labels nothing',
  )
  t.strictSame(clusterWords(points, texts), labels, 'the same each time')
  t.strictSame(
    clusterWords(
      points,
      texts.map(() => undefined),
    ),
    [],
    'nothing without texts',
  )
  t.strictSame(clusterWords(new Float32Array(20), Array(10).fill('one two three')), [], 'one place, the same words')
  t.end()
})

test('every documented error code has a fix', async (t) => {
  const page = await readFile(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')
  const cures = curesIn(page)
  t.match(cures.invalid_token, { cure: 'Send a valid token.' })
  for (const [code, { cause, cure }] of Object.entries(cures)) {
    t.ok(cause.length > 5 && cure.length > 5, code)
    t.notMatch(cause + cure, /\]\(/, `${code}: no marks of Markdown`)
  }
})

test('the nearest rows equal those of an exhaustive comparison', async (t) => {
  const [n, width, k] = [60, 5, 7]
  const rows = Float32Array.from({ length: n * width }, (_, i) => Math.sin(i * i))
  const row = (i: number) => rows.subarray(i * width, (i + 1) * width)
  const far = (i: number, j: number) => Math.sqrt(row(i).reduce((sum, x, d) => sum + (x - row(j)[d]!) ** 2, 0))
  const { indices, distances } = nearestRows(rows, width, k)
  for (let i = 0; i < n; i++) {
    const all = Array.from({ length: n }, (_, j) => far(i, j)).sort((a, b) => a - b)
    t.equal(indices[i]?.[0], i, 'itself first')
    for (const [index, j] of indices[i]!.entries()) {
      t.ok(Math.abs(distances[i]![index]! - all[index]!) < 1e-5)
      t.ok(Math.abs(far(i, j) - distances[i]![index]!) < 1e-5)
    }
  }
  t.equal(nearestRows(rows.subarray(0, 2 * width), width, k).indices[0]?.length, 2, 'no more than the number of rows')
})

const assets = new URL('../dist/assets/', import.meta.url)

test('the compressed forms of the built files are the files', {
  skip: existsSync(assets) ? false : 'the dashboard is not built: npm run build',
}, (t) => {
  const files = readdirSync(assets).filter((name) => !/\.(br|gz)$/.test(name))
  t.ok(files.length > 5)
  for (const name of files) {
    const bytes = readFileSync(new URL(name, assets))
    t.ok(brotliDecompressSync(readFileSync(new URL(`${name}.br`, assets))).equals(bytes), `${name}.br`)
    t.ok(gunzipSync(readFileSync(new URL(`${name}.gz`, assets))).equals(bytes), `${name}.gz`)
  }
  t.end()
})

/** Bytes of the compressed scripts and styles that the first page loads. */
const firstPageMax = 120 * 1024

test('the first page is small, and pages that are rarely opened are not part of it', {
  skip: existsSync(assets) ? false : 'the dashboard is not built: npm run build',
}, (t) => {
  const html = readFileSync(new URL('../index.html', assets), 'utf8')
  const names = [...html.matchAll(/\.\/assets\/([^"]+\.(?:js|css))"/g)].map(([, name]) => name!)
  t.ok(names.length > 1)
  const size = names.reduce((total, name) => total + readFileSync(new URL(`${name}.gz`, assets)).length, 0)
  t.ok(size < firstPageMax, `${size} bytes`)
  t.notOk(names.some((name) => /^(texts|parquet|map|_virtual_sample)-/.test(name)))
  t.end()
})
