// The commands that read and write collections and objects, against a running server: what they print for people and for programs, their
// exit codes, and that neither stored text drives the terminal nor a token is in an argument.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import tap, { type Test, test } from 'tap'
import { run } from '../src/program.ts'
import { silentBar } from '../src/progress-bar.ts'
import { annal, freshDir, serve, start } from './command.ts'
import { noPty, onTerminal } from './pty.ts'

tap.setTimeout(300_000)

interface Ran {
  readonly code: number | undefined
  readonly out: string
  readonly err: string
}

/** A command in this process. */
async function ran(...args: readonly string[]): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = {
    line: (text: string) => out.push(`${text}\n`),
    say: (text: string) => err.push(`${text}\n`),
    bar: silentBar,
  }
  const code = await run(args, terminal)
  return { code, out: out.join(''), err: err.join('') }
}

const films = [
  {
    id: 'alien',
    meta: { title: 'Alien' },
    filter: { year: 1979 },
    fields: { plot: [1, 0], words: 'space ship horror' },
  },
  {
    id: 'solaris',
    meta: { title: 'Solaris' },
    filter: { year: 1972 },
    fields: { plot: [0, 1], words: 'space station' },
  },
  { id: 'stalker', filter: { year: 1979 }, fields: { plot: [0.5, 0.5] } },
]

async function filled(name: string): Promise<void> {
  const plot = 'plot=2,space=l2,precision=float32'
  const created = await ran('create', name, '--vector', plot, '--text', 'words=english', '--sparse', 'terms')
  if (created.code !== 0) throw new Error(created.err)
  await ran('upsert', name, JSON.stringify(films))
}

test('over one server', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const before = process.env.NDD_SERVER_URL
  process.env.NDD_SERVER_URL = address
  t.teardown(() => {
    if (before === undefined) delete process.env.NDD_SERVER_URL
    else process.env.NDD_SERVER_URL = before
  })
  await t.test('collections are created, listed, described, and deleted', collections)
  await t.test('a description in JSON is a definition', (t) => definitions(t, dir))
  await t.test('objects are stored from every form of JSON', (t) => storing(t, dir, address))
  await t.test('objects are found by vector, id, and words, also in groups and fused', searching)
  await t.test('objects are read and counted', reading)
  await t.test('objects are deleted by id and by filter, after a confirmation', removing)
  await t.test('wrong use is reported with the option, the value, and an exit code', (t) => mistakes(t, dir))
  await t.test('long and hostile ids neither break lines nor reach the terminal', hostileIds)
  await t.test('on a terminal', { skip: noPty }, (t) => onTerminals(t, address))
  await t.test('the end of the reader of a pipe ends the command', (t) => brokenPipe(t, address))
})

async function collections(t: Test): Promise<void> {
  t.strictSame(await ran('ls', '--json'), { code: 0, out: '{"collections":[]}\n', err: '' })
  t.match(await ran('ls'), { code: 0, out: '', err: 'no collections; annal create --help shows how to create one\n' })
  t.match(await ran('create', 'one', '--vector', 'plot=3'), { code: 0, out: 'one created\n' })
  const two = [
    '--vector',
    'a=4,space=ip,precision=int16,M=8,recall=0.9',
    '--multi-vector',
    'pages=3,pooling=max',
    '--ttl',
    '60',
  ]
  t.match(await ran('create', 'two', ...two, '--sparse', 'bm25=endee_bm25', '--json'), {
    out: '{"collection":"two"}\n',
  })
  const list = (await ran('ls')).out.split('\n')
  t.match(list[0], /^collection {2}objects {2,}memory {2}fields +created$/)
  t.match(list[1], /^one +0 +\S+ \S+ {2}plot 3 cosine int8 +20\d\d-\d\d-\d\d \d\d:\d\dZ$/)
  t.match(list[2], 'a 4 ip int16, pages multi 3 cosine int8, bm25 sparse')
  const described = await ran('describe', 'two')
  t.match(described.out, /^objects expire after {2}60 s$/m)
  t.match(described.out, /^a +vector +0 {2}dimension 4, spaceType ip, precision int16, M 8, .*recall 0\.9$/m)
  t.match(described.out, /^pages +multi_vector .*pooling max$/m)
  t.match(described.out, /^total +\d\S* (bytes|KiB|MiB)$/m)
  const json = JSON.parse((await ran('describe', 'two', '--json')).out)
  t.match(json, {
    name: 'two',
    ttlSeconds: 60,
    count: 0,
    condition: 'ready',
    fields: [{ name: 'a' }, { name: 'pages' }, {}],
  })
  t.ok(Object.values(json.memory as Record<string, number>).every((bytes) => bytes >= 0))
  t.match(await ran('create', 'one', '--vector', 'plot=3'), { code: 76, err: /collection_exists/ })
  t.match(await ran('rm', 'two', '--dry-run', '--json'), {
    code: 0,
    out: '{"collection":"two","objects":0,"dryRun":true}\n',
  })
  t.match(await ran('rm', 'two', '--yes'), { code: 0, out: 'two deleted\n' })
  t.match(await ran('rm', 'one', '--yes', '--json'), { code: 0, out: '{"collection":"one","objects":0}\n' })
}

async function definitions(t: Test, dir: string): Promise<void> {
  const given = ['--vector', 'plot=3,space=l2', '--text', 'body=german,prefixes=2-8', '--sparse', 'terms', '--ttl', '5']
  t.equal((await ran('create', 'first', ...given)).code, 0)
  const file = path.join(dir, 'definition.json')
  const first = await ran('describe', 'first', '--json')
  writeFileSync(file, first.out)
  t.match(await ran('create', 'second', '--file', file), { code: 0 })
  const second = JSON.parse((await ran('describe', 'second', '--json')).out)
  t.strictSame(second.fields, JSON.parse(first.out).fields)
  t.equal(second.ttlSeconds, 5)
  const wrong: readonly [string, RegExp][] = [
    ['{', /definition\.json: not JSON: /],
    ['{"fields":{}}', /definition\.json: fields must be a list of fields/],
    ['{"fields":[7]}', /definition\.json: fields\[0\] must be an object/],
    ['{"fields":[],"ttlSeconds":"1"}', /ttlSeconds must be a number/],
  ]
  for (const [text, err] of wrong) {
    writeFileSync(file, text)
    t.match(await ran('create', 'third', '--file', file), { code: 64, err })
  }
  writeFileSync(file, '{"fields":[{"name":"v","type":"vector","params":{"dimension":3,"speed":1}}]}')
  t.match(await ran('create', 'third', '--file', file), {
    code: 64,
    err: /fields\[0\]: unknown setting speed; settings are dimension/,
  })
  for (const name of ['first', 'second']) await ran('rm', name, '--yes')
}

async function storing(t: Test, dir: string, address: string): Promise<void> {
  await ran('create', 'stored', '--vector', 'v=2,space=l2,precision=float32')
  const object = (id: string) => `{"id":"${id}","meta":{"text":"a \\"}] b"},"fields":{"v":[1,2]}}`
  const forms: readonly [string, number][] = [
    [object('a'), 1],
    [` [${object('b')} ,\n${object('c')}\n] `, 2],
    [`${object('d')}${object('e')}\n\n${object('f')}`, 3],
    [JSON.stringify(JSON.parse(object('g')), undefined, 2), 1],
    ['[]', 0],
  ]
  const file = path.join(dir, 'objects.json')
  for (const [text, count] of forms) {
    writeFileSync(file, text)
    t.match(await ran('upsert', 'stored', file, '--json'), {
      code: 0,
      out: `{"collection":"stored","stored":${count}}\n`,
    })
  }
  t.match(await ran('count', 'stored'), { out: '7\n' })
  const piped = start(['upsert', 'stored'], { NDD_SERVER_URL: address })
  for (let i = 0; i < 1_200; i++) piped.child.stdin?.write(`${object(`p${i}`)}\n`)
  piped.child.stdin?.end()
  t.match(await piped.ended, { code: 0, out: '1,200 objects stored\n' })
  writeFileSync(file, `[${object('x')},${object('y')}]`)
  t.equal((await ran('import', 'imported', file, '--create')).code, 0, 'import reads the same files')
  const wrong: readonly [string, RegExp][] = [
    ['{"id":"a"', /objects\.json, line 1: .*the text ends too early/],
    ['[{"id":"a","fields":{}}\n{"id":"b","fields":{}}]', /objects\.json, line 2: a comma is missing/],
    ['[]\n[]', /objects\.json, line 2: there is more after the list/],
    ['[{"id":"a","fields":{"v":[1,2]}}', /the list has no end/],
    ['\n7', /objects\.json, line 2: not a JSON object/],
    ['{"fields":{}}', /objects\.json, line 1: missing id/],
    ['{"id":"a","fields":[]}', /fields must be an object/],
    ['{"id":}', /line 1: not a JSON object/],
  ]
  for (const [text, err] of wrong) {
    writeFileSync(file, text)
    t.match(await ran('upsert', 'stored', file), { code: 65, err }, text)
  }
  t.match(await ran('upsert', 'stored', '{"id":"a","fields":{"v":[1,2,3]}}'), { code: 65, err: /fields\.v/ })
  t.match(await ran('upsert', 'nothing', object('a')), { code: 76, err: /collection_not_found/ })
  for (const name of ['stored', 'imported']) await ran('rm', name, '--yes')
}

async function searching(t: Test): Promise<void> {
  await filled('films')
  const json = JSON.parse((await ran('search', 'films', '--field', 'plot', '--vector', '[1,0]', '--json')).out)
  const quoted = JSON.parse((await ran('search', 'films', '--vector', '[1,0]', '-n', '1', '--texts', '--json')).out)
  t.strictSame(quoted.results.plot[0].texts, { words: films[0]?.fields.words })
  t.notOk('texts' in json.results.plot[0])
  t.match(json, {
    complete: true,
    results: { plot: [{ id: 'alien', distance: 0, meta: { title: 'Alien' } }, { id: 'stalker' }, { id: 'solaris' }] },
  })
  t.strictSame(
    (await ran('search', 'films', '--field', 'plot', '--vector', '[1,0]', '--columns', 'title,year')).out.split('\n'),
    [
      '   id       similarity  distance  title    year',
      '1  alien             0         0  Alien    1979',
      '2  stalker        -0.5       0.5           1979',
      '3  solaris          -2         2  Solaris  1972',
      '',
    ],
  )
  t.match(
    await ran('search', 'films', '--vector', '[1,0]', '-n', '1'),
    { out: /^1 {2}alien +0 +0 {2}\{"title":"Alien"\} {2}\{"year":1979\}$/m },
    'the only field that fits',
  )
  t.match(await ran('search', 'films', '--id', 'alien', '--field', 'plot', '-n', '1'), { out: /^1 {2}stalker/m })
  t.match(await ran('search', 'films', '--text', 'ships'), { out: /^1 {2}alien +0\.\d+ {2}\{/m })
  t.match(await ran('search', 'films', '--vector', '{"indices":[1],"values":[1]}'), {
    code: 0,
    out: '',
    err: 'nothing found\n',
  })
  const both = ['--field', 'plot', '--vector', '[0,1]', '--field', 'words', '--text', 'station']
  t.match(await ran('search', 'films', ...both, '--limit', '2'), { out: /^1 {2}solaris +0\.03\d+ {2}plot 1, words 1/m })
  const filter = ['--filter', '[{"year":{"$eq":1972}}]']
  t.match(await ran('search', 'films', '--vector', '[1,0]', ...filter, '--exact', '--rescore'), {
    out: /^1 {2}solaris/m,
  })
  const grouped = await ran('search', 'films', '--vector', '[1,0]', '--group-by', 'year', '--group-hits', '2')
  t.match(grouped.out, /^1979:\n.*\n1 {2}alien.*\n2 {2}stalker.*\n1972:\n.*\n1 {2}solaris/)
  const request = '{"fields":{"plot":{"query":[1,0],"limit":1}},"includeVectors":true}'
  t.match(JSON.parse((await ran('search', 'films', '--request', request, '--json')).out), {
    results: { plot: [{ vector: [1, 0] }] },
  })
}

async function reading(t: Test): Promise<void> {
  t.strictSame(JSON.parse((await ran('get', 'films', 'alien', '--json')).out), films[0])
  const [first = '', second = ''] = (await ran('get', 'films', 'solaris', 'alien', '--json')).out.split('\n')
  t.strictSame([JSON.parse(first).id, JSON.parse(second).id], ['solaris', 'alien'])
  t.strictSame(await ran('get', 'films', 'alien', 'nobody'), {
    code: 1,
    out: [
      ...['id            alien', 'meta.title    Alien', 'filter.year   1979', 'fields.plot   2 numbers: 1, 0'],
      ...['fields.words  space ship horror', ''],
    ].join('\n'),
    err: 'annal: films has no object nobody\n',
  })
  const withoutVectors = JSON.parse((await ran('get', 'films', 'alien', '--json', '--no-vectors')).out)
  t.strictSame(withoutVectors.fields, { words: 'space ship horror' })
  t.strictSame(JSON.parse((await ran('get', 'films', 'alien', '--json', '--no-texts')).out).fields, { plot: [1, 0] })
  t.notMatch((await ran('get', 'films', 'alien', '--no-texts', '--no-vectors')).out, 'fields.')
  t.match(await ran('count', 'films', '--filter', '[{"year":{"$eq":1979}}]', '--json'), {
    out: '{"collection":"films","count":2}\n',
  })
}

async function removing(t: Test): Promise<void> {
  t.match(await ran('rm', 'films', 'alien'), {
    code: 64,
    err: 'annal: alien of films will be deleted; add --yes to confirm\n',
  })
  const where = ['--where', '[{"year":{"$eq":1979}}]']
  t.match(await ran('rm', 'films', ...where), { code: 64, err: /2 objects of films will be deleted; add --yes/ })
  t.match(await ran('rm', 'films', ...where, '--dry-run'), { code: 0, out: '2 objects would be deleted\n' })
  t.match(await ran('rm', 'films', 'alien', 'nobody', '--dry-run'), { code: 0, out: '1 object would be deleted\n' })
  t.match(await ran('rm', 'films'), { code: 64, err: /the collection films and 3 objects will be deleted; add --yes/ })
  t.match(await ran('rm', 'films', '--where', '[]', '--yes'), { code: 64, err: /--where \[\] has no condition/ })
  t.match(await ran('rm', 'films', 'a', ...where, '--yes'), { code: 64, err: /either ids or --where/ })
  t.equal((await ran('count', 'films')).out, '3\n', 'nothing was deleted so far')
  t.match(await ran('rm', 'films', 'alien', 'alien', 'nobody', '--yes'), {
    code: 1,
    out: '1 object deleted\n',
    err: /no object nobody/,
  })
  t.match(await ran('rm', 'films', ...where, '--yes', '--json'), {
    code: 0,
    out: '{"collection":"films","objects":1}\n',
  })
  t.equal((await ran('get', 'films', 'solaris')).code, 0)
}

async function mistakes(t: Test, dir: string): Promise<void> {
  const empty = path.join(dir, 'empty')
  writeFileSync(empty, ' \n')
  const wrong: readonly [readonly string[], number, RegExp][] = [
    [['create', 'x'], 64, /a collection needs a field/],
    [['create', 'x', '--vector', 'plot'], 64, /--vector plot: use plot=DIMENSION/],
    [['create', 'x', '--vector', '=3'], 64, /the name of the field is missing/],
    [['create', 'x', '--vector', 'plot=many'], 64, /--vector plot=many: dimension must be a number, not "many"/],
    [['create', 'x', '--vector', 'plot=3,shape=l2'], 64, /unknown setting shape; settings are dimension, space/],
    [['create', 'x', '--vector', 'plot=3,M=1,M=2'], 64, /M is set twice/],
    [['create', 'x', '--vector', 'plot=3,space=round'], 64, /spaceType|space_type/],
    [['create', 'x', '--vector', 'plot=3', '--file', 'y'], 64, /either --file or options/],
    [['create', 'x', '--file', path.join(dir, 'none.json')], 64, /none\.json: no such file/],
    [['create', 'x', '--text', 'a=english,prefixes=2'], 64, /prefixes must be MIN-MAX/],
    [['create', 'x', '--vector', 'a=3,embed=local'], 64, /embed must be PROVIDER:FIELD/],
    [['create', 'x', '--vector', 'a=3,keep-originals=no'], 64, /keep-originals must be true or false, not "no"/],
    [['search', 'films'], 64, /a search needs a query/],
    [['search', 'films', '--vector', '[1,'], 64, /--vector must be JSON/],
    [['search', 'films', '--vector', '7'], 64, /--vector must be a list of numbers/],
    [['search', 'films', '--field', 'plot'], 64, /--field plot: add --vector, --id, or --text/],
    [['search', 'films', '--vector', '[1,0]', '--id', 'a'], 64, /--id: --vector has a query for the same field/],
    [['search', 'films', '--id', 'solaris'], 64, /choose the field with --field \(plot, words, terms\)/],
    [['search', 'films', '--vector', '[1,0]', '--filter', '{'], 64, /--filter must be a JSON list/],
    [['search', 'films', '--vector', '[1,0]', '--group-hits', '2'], 64, /--group-hits needs --group-by/],
    [['search', 'films', '--request', '{"plot":1}'], 64, /--request must be an object such as/],
    [['search', 'films', '--field', 'plot', '--vector', '[1,0,0]'], 64, /dimension/],
    [['search', 'films', '--field', 'story', '--vector', '[1,0]'], 76, /story/],
    [['get', 'films'], 64, /missing required argument 'ids'/],
    [['get', 'nothing', 'a'], 76, /collection_not_found/],
    [['count', 'nothing'], 76, /\(collection_not_found\)\n$/],
    [['rm', 'nothing', '--yes'], 76, /collection_not_found/],
    [['ls', '-s', 'http://127.0.0.1:1'], 69, /unreachable|bad port/],
    [['ls', '--token', 'secret'], 64, /other users of this machine can read arguments; set ANNAL_TOKEN/],
    [['ls', '--token=secret'], 64, /use --token-file FILE/],
    [['import', 'x', 'postgres://me:secret@localhost/x'], 64, /a URL with a password/],
    [['ls', '-s', 'http://me:secret@localhost'], 64, /a server of Annal has no users; set ANNAL_TOKEN/],
    [['ls', '--server=http://me:secret@localhost'], 64, /a server of Annal has no users; set ANNAL_TOKEN/],
    [['ls', '-shttp://me:secret@localhost'], 64, /has no users/],
    [['count', 'flims'], 76, /there is no collection "flims" \(collection_not_found\); did you mean films\?/],
    [['serch', 'films'], 64, /unknown command serch; did you mean search\?/],
    [['ls', '--token-file', empty], 64, /--token-file .*empty is empty/],
    [['ls', '--token-file', path.join(dir, 'none')], 64, /none: no such file/],
  ]
  for (const [args, code, err] of wrong) {
    const ended = await ran(...args)
    t.match(ended, { code, err }, args.join(' '))
    t.notMatch(ended.err, 'secret', 'a secret is not repeated')
  }
  const help = (await ran('--help')).out
  for (const heading of ['Serve:', 'Read and write data:', 'Move data:', 'Back up and restore:', 'Measure:'])
    t.match(help, heading)
  t.notMatch(help, /^Commands:$/m, 'every command is in a group')
  t.notMatch((await ran('alias', '--help')).out, 'Work in a terminal:', 'a command has no groups')
}

/** An id that turns the direction of text, clears the screen, sets the title, and rings. */
const hostile = 'a\u202eb\u001b[2Jc\u001b]0;title\u0007\u009b31m\nd'
const shownHostile = 'a\\u202eb\\u001b[2Jc\\u001b]0;title\\u0007\\u009b31m\\u000ad'

async function hostileIds(t: Test): Promise<void> {
  await ran('create', 'ids', '--vector', 'v=2,space=l2,precision=float32')
  const long = `${'long'.repeat(100)}`
  const wide = '漢字😀é'
  for (const id of [hostile, long, wide]) {
    const object = { id, meta: { [hostile]: hostile }, fields: { v: [1, 2] } }
    t.equal((await ran('upsert', 'ids', JSON.stringify(object))).code, 0)
  }
  const found = (await ran('search', 'ids', '--vector', '[1,2]')).out
  t.match(found, `${shownHostile}  `)
  t.match(found, new RegExp(`^\\d {2}${'long'.repeat(14)}l\\.\\.\\. {2}`, 'm'), 'a long id is cut in a table')
  t.notMatch(found, /[^\n\x20-\x7e漢字😀é]/u)
  const got = await ran('get', 'ids', hostile)
  t.match(got.out, `id                 `.trimEnd())
  t.match(got.out, shownHostile)
  t.notMatch(got.out, /[^\n\x20-\x7e]/)
  t.equal(JSON.parse((await ran('get', 'ids', hostile, '--json')).out).id, hostile, 'programs get the exact id')
  t.equal(JSON.parse((await ran('get', 'ids', long, '--json')).out).id, long)
  t.match(await ran('rm', 'ids', hostile), { code: 64 })
  t.match(await ran('rm', 'ids', hostile, long, '--yes'), { code: 0, out: '2 objects deleted\n' })
}

async function onTerminals(t: Test, address: string): Promise<void> {
  const environment = { NDD_SERVER_URL: address }
  await ran('upsert', 'ids', JSON.stringify({ id: hostile, fields: { v: [1, 2] } }))
  const exporting = onTerminal(['export', 'ids'], environment)
  t.equal(await exporting.ended, 0)
  t.match(exporting.shown(), 'a\\u202eb\\u001b[2J', 'JSON is escaped on a terminal, with the same value')
  for (const character of ['\u202e', '\u001b', '\u009b']) t.notOk(exporting.shown().includes(character))
  const declined = onTerminal(['rm', 'ids', hostile], environment)
  t.match(await declined.until(/deleted\. Continue\? \[y\/N\] /), 'Continue')
  declined.type('n\r')
  t.equal(await declined.ended, 1)
  t.match(declined.shown(), /nothing was changed/)
  t.match(declined.shown(), shownHostile)
  const ended = onTerminal(['rm', 'ids', hostile], environment)
  await ended.until(/Continue\? \[y\/N\] /)
  ended.type('\u0004')
  t.equal(await ended.ended, 1, 'Ctrl-D is no confirmation')
  const interrupted = onTerminal(['rm', 'ids', hostile], environment)
  await interrupted.until(/Continue\? \[y\/N\] /)
  interrupted.type('\u0003')
  t.equal(await interrupted.ended, 130)
  t.match(interrupted.shown(), /\nannal: nothing was changed/, 'on a line of its own')
  const confirmed = onTerminal(['rm', 'ids', hostile], environment)
  await confirmed.until(/Continue\? \[y\/N\] /)
  confirmed.type('y\r')
  t.equal(await confirmed.ended, 0)
  t.match(confirmed.shown(), '1 object deleted')
}

async function brokenPipe(t: Test, address: string): Promise<void> {
  const objects = Array.from({ length: 3_000 }, (_, i) => ({
    id: `${i}`,
    meta: { text: 'x'.repeat(200) },
    fields: { v: [i, 1] },
  }))
  for (let i = 0; i < 3_000; i += 1_000) await ran('upsert', 'ids', JSON.stringify(objects.slice(i, i + 1_000)))
  const { child, ended } = start(['export', 'ids'], { NDD_SERVER_URL: address })
  child.stdout?.once('data', () => child.stdout?.destroy())
  t.match(await ended, { code: 141, err: '' })
}

test('a token comes from the environment or a file, and is in no argument', async (t) => {
  const dir = freshDir(t)
  const token = 'objects-test-0123456789'
  const { address } = await serve(t, path.join(dir, 'data'), { NDD_AUTH_TOKEN: token })
  const file = path.join(dir, 'token')
  writeFileSync(file, `${token}\n`)
  t.match(await annal(['ls'], { NDD_SERVER_URL: address }), { code: 76, err: /authorization_required/ })
  t.equal((await annal(['ls', '--token-file', file], { NDD_SERVER_URL: address })).code, 0)
  const { child, ended } = start(['changes', '--from', '1'], { NDD_SERVER_URL: address, ANNAL_TOKEN: token })
  const arguments_ = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')
  t.match(arguments_, 'changes')
  t.notMatch(arguments_, token)
  child.kill()
  await ended
  t.equal((await annal(['ls'], { NDD_SERVER_URL: address, ANNAL_TOKEN: token })).code, 0)
})
