// A round trip through every file format: importing an export recreates the exported collection.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { connect, denseField, multiVectorField, sparseField } from '@annal/client'
import tap, { type Test, test } from 'tap'
import { annal, freshDir, serve } from './command.ts'
import { exporting, importing, silent } from './importing.ts'

tap.setTimeout(300_000)

/** Every kind of field, values that need quoting, bytes, and objects with missing parts. */
const objects = [
  {
    id: 'a "quoted", id',
    meta: { title: 'Alien,\n"the first"', year: 1979, nested: { list: [1, null, 'x'] } },
    filter: { year: 1979, tags: ['space', 'fear'], seen: true },
    fields: {
      plot: [1, -0.5, 0.25],
      words: { indices: [7, 4_294_967_295], values: [2, 0.5] },
      pages: [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    },
  },
  {
    id: '007',
    meta: {},
    filter: {},
    expires_at: '2999-12-31T23:59:59.999Z',
    fields: { plot: [0.1, 0.2, 0.3], pages: [[0.5, 0.25]] },
  },
  { id: 'é ü 漢', meta_base64: 'AQL6', filter: { rating: 1.5 }, fields: { words: { indices: [0], values: [1] } } },
  ...Array.from({ length: 1_200 }, (_, i) => ({
    id: `n${i}`,
    meta: i % 3 === 0 ? { i, text: `number ${i}` } : {},
    filter: i % 2 === 0 ? { i, even: true } : {},
    fields: { plot: [i / 7, -i, 1 / (i + 1)] },
  })),
]

async function create(address: string, name: string): Promise<void> {
  await using client = connect({ url: address })
  await client.createCollection({
    name,
    fields: [
      denseField('plot', { dimension: 3, spaceType: 'l2', precision: 'float32' }),
      sparseField('words'),
      multiVectorField('pages', { dimension: 2, precision: 'float32' }),
    ],
  })
}

test('over one server', async (t) => {
  const { address } = await serve(t, path.join(freshDir(t), 'data'))
  await t.test('CSV and Parquet hold everything that a collection has', (t) => everything(t, address))
  await t.test('vectors are written to NPY, fvecs and bvecs, with their ids in a separate file', (t) =>
    vectorsAlone(t, address),
  )
  await t.test('columns of any name are read as what a person says they are', (t) => columns(t, address))
  await t.test('invalid files are reported with file, row and column', (t) => mistakes(t, address))
})

async function everything(t: Test, address: string): Promise<void> {
  const dir = freshDir(t)
  const given = path.join(dir, 'given.jsonl')
  writeFileSync(given, objects.map((object) => `${JSON.stringify(object)}\n`).join(''))
  await create(address, 'films')
  const stored = await annal(['import', 'films', given], { NDD_SERVER_URL: address })
  t.equal(stored.code, 0, stored.err)
  const first = path.join(dir, 'first.jsonl')
  await exporting('films', { server: address, output: first })
  for (const format of ['csv', 'parquet']) {
    const file = path.join(dir, `films.${format}`)
    const out = silent()
    await exporting('films', { server: address, output: file }, out.terminal)
    t.same(out.said, [`1,203 objects in ${file}`])
    await create(address, format)
    const back = silent()
    await importing(format, file, { server: address, json: true }, back.terminal)
    t.match(JSON.parse(back.said[0] ?? ''), { stored: 1_203 })
    const again = path.join(dir, `${format}.jsonl`)
    await exporting(format, { server: address, output: again })
    t.same(sortedLines(again), sortedLines(first), `${format} brings back the same lines`)
  }
  const rest = silent()
  const parquet = path.join(dir, 'films.parquet')
  await importing('parquet', parquet, { server: address, skip: 1_100, json: true }, rest.terminal)
  t.match(JSON.parse(rest.said[0] ?? ''), { stored: 103, before: 1_100 })
}

/** Concurrent batches are stored in the order of arrival. */
function sortedLines(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split('\n').sort()
}

async function linesOf(collection: string, server: string) {
  const out = silent()
  await exporting(collection, { server }, out.terminal)
  return out.said.map((line) => JSON.parse(line))
}

async function vectorsAlone(t: Test, server: string): Promise<void> {
  const dir = freshDir(t)
  const given = path.join(dir, 'given.csv')
  writeFileSync(given, 'id,fields.v\nx,"[0,1,255]"\ny,"[3,4,5]"\n')
  await importing('v', given, { server, create: true, space: 'l2', precision: 'float32' })
  for (const format of ['npy', 'fvecs', 'bvecs']) {
    const file = path.join(dir, `v.${format}`)
    const ids = path.join(dir, `${format}.ids`)
    await exporting('v', { server, output: file, ids })
    t.equal(readFileSync(ids, 'utf8'), 'x\ny\n')
    await importing(format, file, { server, ids, field: 'v', create: true, space: 'l2', precision: 'float32' })
    t.match(await linesOf(format, server), [
      { id: 'x', fields: { v: [0, 1, 255] } },
      { id: 'y', fields: { v: [3, 4, 5] } },
    ])
  }
  t.equal(statSync(path.join(dir, 'v.bvecs')).size, 2 * (4 + 3))
  const ids = path.join(dir, 'wrong.ids')
  const file = path.join(dir, 'v.npy')
  writeFileSync(ids, 'x\n')
  const message = /wrong\.ids has only 1 ids for 2 vectors/
  await t.rejects(importing('npy', file, { server, ids, field: 'v' }), { exitCode: 65, message })
  writeFileSync(ids, 'x\ny\nz\n')
  await t.rejects(importing('npy', file, { server, ids, field: 'v' }), { message: /more ids than the 2/ })
}

async function columns(t: Test, server: string): Promise<void> {
  const dir = freshDir(t)
  const file = path.join(dir, 'films.tsv')
  const rows = ['key title year score zip embedding', 'alien Alien 1979 1.50 007 [1,0]', 'solaris  1972 2 12 [0,1]']
  writeFileSync(file, rows.map((row) => `${row.replaceAll(' ', '\t')}\n`).join(''))
  const column = ['key=id', 'embedding=fields.plot', 'year=filter.year', 'score=']
  await importing('named', file, { server, create: true, column })
  const [alien, solaris] = await linesOf('named', server)
  t.match(alien, { id: 'alien', filter: { year: 1979 } })
  t.same(alien.meta, { title: 'Alien', zip: '007' })
  t.same(solaris.meta, { zip: 12 })
  const late = Date.parse('2999-01-01T00:00:00Z')
  const expiries = path.join(dir, 'expiries.csv')
  writeFileSync(
    expiries,
    `id,until,expires_at,fields.plot\na,,${late},"[1,0]"\nb,2999-01-01T01:00:00+01:00,,"[1,0]"\nc,,,"[1,0]"\n`,
  )
  await importing('expiring', expiries, { server, create: true, column: ['until=meta.until'] })
  t.match(await linesOf('expiring', server), [{ id: 'a', expires_at: '2999-01-01T00:00:00.000Z' }, { id: 'b' }, {}])
  await importing('expiring', expiries, { server, column: ['until=expires_at', 'expires_at='] })
  const again = await linesOf('expiring', server)
  t.strictSame(again.map(({ id, expires_at }) => [id, expires_at]).sort(), [
    ['a', undefined],
    ['b', '2999-01-01T00:00:00.000Z'],
    ['c', undefined],
  ])
}

async function mistakes(t: Test, server: string): Promise<void> {
  const dir = freshDir(t)
  const made = path.join(dir, 'good.csv')
  writeFileSync(made, 'id,fields.v\na,"[1,2.5]"\n')
  t.equal(await importing('w', made, { server, create: true }), 0)
  const wrong: readonly [string, string, RegExp, (readonly string[])?][] = [
    ['vector.csv', 'id,fields.v\na,"[1,2]"\nb,"[1,x]"\n', /vector\.csv, row 2, column fields\.v: not a vector such as/],
    [
      'number.csv',
      'id,fields.v\na,"[1,null]"\n',
      /number\.csv, row 1, column fields\.v, number 1: null is not a number/,
    ],
    ['meta.csv', 'id,meta,fields.v\na,[],"[1,2]"\n', /meta\.csv, row 1, column meta: not a JSON object/],
    ['expiry.csv', 'id,expires_at,fields.v\na,soon,"[1,2]"\n', /record 1 of the source: .*expires_at must be a time/],
    ['none.csv', 'id,title\na,b\n', /none\.csv has no column for a field; choose one with --column/],
    ['twice.csv', 'id,fields.v,fields.v\na,"[1,2]","[1,2]"\n', /columns fields\.v and fields\.v map to the same part/],
    ['cells.csv', 'id,fields.v\na,"[1,2]",c\n', /cells\.csv: Invalid Record Length.* on line 2/],
    ['quote.csv', 'id,fields.v\na,"[1,2]\n', /quote\.csv: Quote Not Closed/],
    ['wide.csv', 'id,fields.v\na,"[1,2]"\nb,"[1,2,3]"\n', /record 2 of the source: .*fields\.v/],
    ['absent.csv', 'id,fields.v\na,"[1,2]"\n', /has no column text; its columns are id, fields\.v/, ['text=meta.text']],
    ['bad.parquet', 'PAR1 no', /bad\.parquet is not a Parquet file/],
  ]
  for (const [name, text, said, column = []] of wrong) {
    const file = path.join(dir, name)
    writeFileSync(file, text)
    await t.rejects(importing('w', file, { server, column }), { name: 'CommandEnd', message: said }, name)
  }
  await t.rejects(importing('w', 'mysql://localhost/x', { server }), { message: /mysql:\/\/ is not supported/ })
  await t.rejects(exporting('w', { server, format: 'parquet' }), { message: /requires --output/ })
  const output = path.join(dir, 'v.bvecs')
  await t.rejects(exporting('w', { server, output }), { message: /bvecs holds integers from 0 to 255/ })
  t.notOk(existsSync(output) || existsSync(`${output}.part`))
}
