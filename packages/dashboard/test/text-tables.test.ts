// From what somebody pastes to objects: tables, guesses, chunks, and loads that are canceled and continued.

import { brotliCompressSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { test } from 'tap'
import { sampleDocuments } from '../build/sample.ts'
import { batchesOfTable, type ChunkObject, chunksOfRow } from '../src/pages/texts/chunks.ts'
import { csvRows, delimiterOf } from '../src/pages/texts/csv.ts'
import { tableOfFiles } from '../src/pages/texts/files.ts'
import { guessLanguage } from '../src/pages/texts/guess-language.ts'
import { Loader } from '../src/pages/texts/loader.ts'
import { readParquet } from '../src/pages/texts/parquet.ts'
import { freeName, guessPlan, guessRoles, type Plan, sampleColumns, samplePlan } from '../src/pages/texts/plan.ts'
import { tableOf, tableOfObjects } from '../src/pages/texts/table.ts'
import { searchOfWords, waysOf } from '../src/pages/texts/word-search.ts'

test('CSV is read as in RFC 4180, and errors name the line', (t) => {
  t.strictSame(csvRows('a,b\r\n"1, ""x""\ny",2\r\n\r\n,\n3,4', ','), [
    ['a', 'b'],
    ['1, "x"\ny', '2'],
    ['', ''],
    ['3', '4'],
  ])
  t.strictSame(csvRows('\ufeffa\tb\n1\t', '\t'), [
    ['a', 'b'],
    ['1', ''],
  ])
  t.strictSame(csvRows('a b"c,d', ','), [['a b"c', 'd']], 'a quote inside a plain cell is a character')
  t.throws(() => csvRows('a,b\n1,"2', ','), /line 2: a quoted cell has no end/)
  t.throws(() => csvRows('a,b\n"1"x,2', ','), /line 2: a quoted cell must end before the delimiter/)
  t.equal(delimiterOf('a;b;c\n1,5;2;3\n'), ';')
  t.equal(delimiterOf('Dear reader, this is a text.\nIt has lines, and commas, but no columns.'), undefined)
  t.equal(delimiterOf('one line, with a comma'), undefined)
  t.end()
})

test('pasted text, JSON Lines, and CSV become tables', (t) => {
  t.match(tableOf({ name: '', text: 'Just a text.' }), {
    columns: ['document', 'text'],
    rows: [['pasted', 'Just a text.']],
  })
  t.equal(tableOf({ name: 'a.md', text: 'x' }).isMarkdown, true)
  const table = tableOf({ name: 'films.csv', text: 'id,title,year,code\na,Alien,1979,007\nb,,2016,1\n' })
  t.strictSame(table.rows, [
    ['a', 'Alien', 1979, '007'],
    ['b', undefined, 2016, 1],
  ])
  t.equal(table.name, 'films')
  t.strictSame(tableOf({ name: 'a.csv', text: 'a,,a,a 2\n1,2,3,4' }).columns, ['a', 'column 2', 'a 2', 'a 2 2'])
  const lines = tableOf({ name: '', text: '{"id":1,"text":"x"}\n{"text":"y","tags":["a"]}' })
  t.strictSame(lines.columns, ['id', 'text', 'tags'])
  t.strictSame(lines.rows[1], [undefined, 'y', ['a']])
  t.throws(() => tableOf({ name: 'a.csv', text: 'a,b\n1,2,3' }), /row 1 has 3 cells/)
  t.throws(() => tableOf({ name: 'a.csv', text: 'a,b' }), /rows must follow/)
  t.throws(() => tableOf({ name: '', text: ' \n' }), /there is no text/)
  t.throws(() => tableOf({ name: 'a.jsonl', text: '{"a":1}\nnonsense' }), /line 2 is not JSON/)
  t.end()
})

test('files are read together if they are texts, and alone if they are tables', async (t) => {
  const both = await tableOfFiles([new File(['One.'], 'a.txt'), new File(['Two.'], 'b.md')], readParquet)
  t.strictSame(both.rows, [
    ['a.txt', 'One.'],
    ['b.md', 'Two.'],
  ])
  await t.rejects(
    tableOfFiles([new File(['a,b\n1,2'], 'a.csv'), new File(['x'], 'b.txt')], readParquet),
    /a.csv is a table; load it alone/,
  )
  await t.rejects(
    tableOfFiles([new File([Uint8Array.of(0xff, 0xfe, 0)], 'a.txt')], readParquet),
    /a.txt is not text in UTF-8/,
  )
  await t.rejects(tableOfFiles([new File(['PAR1'], 'a.parquet')], readParquet), /a.parquet cannot be read/)
})

test('Parquet is read with whole numbers, times, and missing values as JSON has them', async (t) => {
  const file = parquetWriteBuffer({
    columnData: [
      { name: 'id', data: ['a', 'b'], type: 'STRING' },
      { name: 'text', data: ['The first text of two.', 'The second text of two.'], type: 'STRING' },
      { name: 'number', data: [7n, 9_007_199_254_740_993n], type: 'INT64' },
      { name: 'when', data: [new Date(0), new Date(1_000)], type: 'TIMESTAMP' },
      { name: 'empty', data: [null, 'x'], type: 'STRING', nullable: true },
    ],
  })
  const table = tableOfObjects('a.parquet', await readParquet(file))
  t.strictSame(table.columns, ['id', 'text', 'number', 'when', 'empty'])
  t.strictSame(table.rows, [
    ['a', 'The first text of two.', 7, '1970-01-01T00:00:00.000Z', undefined],
    ['b', 'The second text of two.', '9007199254740993', '1970-01-01T00:00:01.000Z', 'x'],
  ])
})

test('columns, languages, and names are guessed', (t) => {
  const rows = Array.from({ length: 12 }, (_, i) => [
    `package-${i}`,
    ['web', 'mail', 'math'][i % 3],
    i * 10,
    `https://example.org/${i}`,
    `This package number ${i} is for people who want to read and write the files of others.`,
  ])
  const table = {
    name: 'packages 1',
    columns: ['package', 'section', 'size', 'home', 'description'],
    rows,
    isMarkdown: false,
  }
  t.strictSame(guessRoles(table), ['id', 'filter', 'filter', 'meta', 'text'])
  t.match(guessPlan(table, ['packages_1']), { name: 'packages_1_2', language: 'english', by: 'sentences' })
  t.equal(freeName('../été?', []), 'ete')
  t.equal(freeName('中文', []), 'texts')
  const texts = {
    german: 'Der Hund und die Katze sind nicht auf dem Dach, sondern mit den Kindern im Garten.',
    french: 'Les chats ne sont pas sur le toit, et la maison est dans une rue qui va au port.',
    spanish: 'El perro y los gatos no están en la casa, que es de una mujer con más hijos.',
    dutch: 'Het huis van de vrouw is niet op de berg, en zij zijn ook met het kind.',
    swedish: 'Huset är inte på berget, och det var en gång som den blev till med ett barn.',
    finnish: 'Se on totta, että hän ei ole täällä, mutta hän tulee kun on ilta ja myös yö.',
    russian: 'Собака и кошка живут в доме у моря.',
    chinese: '狗和猫住在海边的房子里。',
    japanese: '犬と猫は海のそばの家に住んでいます。',
    korean: '개와 고양이는 바닷가 집에 산다.',
    none: '12345 67890',
  } as const
  for (const [language, text] of Object.entries(texts)) t.equal(guessLanguage([text]), language)
  t.end()
})

const story = Array.from({ length: 40 }, (_, i) => `Sentence number ${i} tells of the sea.`).join(' ')
const stories = {
  name: 'stories',
  columns: ['id', 'year', 'note', 'text'],
  rows: Array.from({ length: 300 }, (_, i) => [`s${i}`, 1900 + i, { i }, i % 10 === 0 ? story : 'A short text.']),
  isMarkdown: false,
}
const plan: Plan = {
  ...{ name: 'stories', language: 'english', by: 'sentences', size: 60, overlap: 0 },
  roles: ['id', 'filter', 'meta', 'text'],
}

test('chunks name their document and have the filter values and the meta of their row', (t) => {
  const chunks = chunksOfRow(stories, plan, 10)
  t.ok(chunks.length > 2)
  t.equal(chunks.map(({ fields }) => fields.text).join(' '), story)
  t.match(chunks[1], { id: 's10#1', meta: { note: { i: 10 } }, filter: { year: 1910, document: 's10' } })
  t.match(chunksOfRow(stories, plan, 11), [{ id: 's11', fields: { text: 'A short text.' } }])
  const empty = { ...stories, rows: [['x', 1, null, undefined]] }
  t.strictSame(chunksOfRow(empty, plan, 0), [])
  t.match(chunksOfRow(stories, { ...plan, roles: ['none', 'none', 'none', 'text'] }, 11), [
    { id: 'stories-12', filter: { document: 'stories-12' } },
  ])
  const batches = [...batchesOfTable(stories, plan)]
  t.equal(batches.at(-1)?.rows, 300)
  t.ok(batches.every(({ objects }) => objects.length <= 250))
  t.end()
})

test('a load that was canceled, or failed, continues without gaps and without repeating what was acknowledged', async (t) => {
  const all = [...batchesOfTable(stories, plan)].flatMap(({ objects }) => objects)
  const written: ChunkObject[] = []
  const abort = new AbortController()
  let calls = 0
  const loader = new Loader(stories, plan, async (objects) => {
    calls += 1
    if (calls === 2) throw new Error('the server is busy')
    written.push(...objects)
    if (calls === 1) return
    abort.abort()
  })
  await t.rejects(
    loader.run(new AbortController().signal, () => undefined),
    /busy/,
  )
  const first = written.length
  t.ok(first > 0 && first < all.length)
  await t.rejects(
    loader.run(AbortSignal.abort(), () => undefined),
    { name: 'AbortError' },
  )
  t.equal(written.length, first)
  const done = await loader.run(new AbortController().signal, ({ chunks }) => t.equal(chunks, written.length))
  t.strictSame(written, all)
  t.match(done, { rows: 300, chunks: all.length })
})

test('the sample is small, and every page of the guide has a title and chunks', async (t) => {
  const documents = await sampleDocuments()
  const size = brotliCompressSync(JSON.stringify(documents)).length
  t.ok(size < 150 * 1024, `${size} bytes compressed`)
  t.ok(documents.length > 20)
  const rows = documents.map(({ document, title, text }) => [document, title, text])
  const table = { name: 'guide', columns: sampleColumns, rows, isMarkdown: true }
  for (const [row, { document, title }] of documents.entries()) {
    t.not(title, '')
    const [chunk] = chunksOfRow(table, samplePlan([]), row)
    t.match(chunk, { filter: { document, title }, meta: { headings: [title] } })
  }
})

test('a search by meaning is offered where a provider makes vectors of texts, and both are fused', (t) => {
  const text = {
    name: 'text',
    type: 'text',
    params: { language: 'none', analyzer: 1, k1: 1.2, b: 0.75 },
    element_count: 0,
  } as const
  const graph = { dimension: 3, space_type: 'cosine', precision: 'int8', M: 16, ef_con: 128 }
  const dense = { name: 'meaning', type: 'vector', element_count: 0 } as const
  const collection = { name: 'c', created_at: 0, total_elements: 0, lsn: 1, condition: 'ready' } as const
  const plain = { ...collection, fields: [text, { ...dense, params: graph }] }
  t.strictSame(waysOf(plain), ['words'])
  const wish = { words: 'red fox', operator: 'and' } as const
  t.strictSame(searchOfWords(plain, { ...wish, way: 'words' }), {
    fields: { text: { query: 'red fox', limit: 10, highlight: true, operator: 'and' } },
  })
  const embedded = {
    ...collection,
    fields: [text, { ...dense, params: { ...graph, embed: { provider: 'p', from: 'text' } } }],
  }
  t.strictSame(waysOf(embedded), ['words', 'meaning', 'both'])
  const both = searchOfWords(embedded, { ...wish, way: 'both' })
  t.strictSame(Object.keys(both.fields), ['text', 'meaning'])
  t.match(both.fusion, { method: 'rrf', weights: { text: 1, meaning: 1 } })
  t.strictSame(Object.keys(searchOfWords(embedded, { ...wish, way: 'meaning' }).fields), ['meaning'])
  t.throws(() => searchOfWords({ ...collection, fields: [] }, { ...wish, way: 'words' }), /no text field/)
  t.end()
})
