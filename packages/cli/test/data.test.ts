// Import, export, backup and restore, against a running server and on a closed directory.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { test } from 'tap'
import { annal, freshDir, serve, start } from './command.ts'

const films = [
  {
    id: 'alien',
    meta: { title: 'Alien' },
    filter: { year: 1979 },
    fields: { plot: [1, 0.5], words: { indices: [7], values: [2] } },
  },
  { id: 'solaris', meta_base64: 'AQL6', filter: { year: 1972 }, fields: { plot: [0.25, 1] } },
]

function jsonl(dir: string): string {
  const file = path.join(dir, 'films.jsonl')
  writeFileSync(file, films.map((film) => `${JSON.stringify(film)}\n`).join(''))
  return file
}

/** A matrix in the format of NumPy. */
function npy(rows: number, dimension: number): Buffer {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimension}), }`
  const header = `${text.padEnd(128 - 10 - 1)}\n`
  const head = Buffer.alloc(10)
  head.write('\x93NUMPY\x01\x00', 'latin1')
  head.writeUInt16LE(header.length, 8)
  const numbers = Float32Array.from({ length: rows * dimension }, (_, i) => i / 2)
  return Buffer.concat([head, Buffer.from(header, 'latin1'), Buffer.from(numbers.buffer)])
}

test('what was exported is imported and exported again, byte for byte, also over a backup', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const ask = (...args: readonly string[]) => annal(args, { NDD_SERVER_URL: address })
  const made = await ask('import', 'films', jsonl(dir), '--create', '--space', 'l2', '--precision', 'float32', '--json')
  t.equal(made.code, 0, made.err)
  t.match(JSON.parse(made.out), { stored: 2 })
  const first = path.join(dir, 'first.jsonl')
  t.equal((await ask('export', 'films', '-o', first)).out, `2 objects in ${first}\n`)
  const lines = readFileSync(first, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(lines[0], films[0])
  t.match(lines[1], { id: 'solaris', meta_base64: 'AQL6' })
  const some = await ask('export', 'films', '--filter', '[{"year":{"$lt":1975}}]')
  t.equal(JSON.parse(some.out).id, 'solaris')

  const changes = await ask('changes', '--from', '1', '--collection', 'films', '-n', '2', '--json', '--vectors')
  const [created, stored] = changes.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(created, { kind: 'collection-created', collection: 'films' })
  t.match(stored, {
    kind: 'objects-upserted',
    objects: [{ id: 'alien', fields: { plot: [1, 0.5] } }, { id: 'solaris' }],
  })
  const follow = ['changes', '--from', '1', '--cursor', 'printed', '-n', '1']
  t.match((await ask(...follow)).out, /^\d+ {2}\S+Z {2}collection-created {2}films\n$/)
  t.match((await ask(...follow)).out, /objects-upserted {2}films {2}alien, solaris\n$/, 'it continues at its cursor')
  t.match(await ask('changes', '--filter', '['), { code: 64, err: /--filter must be a JSON list/ })

  t.match((await ask('backup', 'create', 'films', 'night')).out, /^night: films, 2 objects, .* LSN \d+/)
  t.match((await ask('backup', 'list')).out, /^night: /)
  t.equal((await ask('backup', 'verify', 'night', '--deep')).code, 0)
  const file = path.join(dir, 'kept.annal-backup')
  t.equal((await ask('backup', 'download', 'night', '-o', file)).code, 0)
  t.equal((await ask('backup', 'delete', 'night')).code, 0)
  t.equal((await ask('backup', 'upload', file)).code, 0)
  t.match((await ask('restore', 'kept', 'again')).out, /^again has 2 objects/)
  const second = path.join(dir, 'second.jsonl')
  await ask('export', 'again', '-o', second)
  t.equal(readFileSync(second, 'utf8'), readFileSync(first, 'utf8'))
  t.notOk(existsSync(`${second}.part`))
})

test('matrices are imported from NPY, fvecs and bvecs into a closed directory, and can go on where they ended', async (t) => {
  const dir = freshDir(t)
  const data = ['--data-dir', path.join(dir, 'data')]
  const matrix = path.join(dir, 'm.npy')
  writeFileSync(matrix, npy(1_000, 3))
  const all = await annal(['import', 'm', matrix, '--create', '--space', 'l2', '--precision', 'float32', ...data])
  t.match(all.out, /^1,000 objects stored/, all.err)
  const out = await annal(['export', 'm', ...data, '--json'])
  const last = JSON.parse(out.out.trim().split('\n').at(-1) ?? '')
  t.match(last, { id: '999', fields: { dense: [2_997 / 2, 2_998 / 2, 2_999 / 2] } })
  const rest = await annal(['import', 'm', matrix, '--skip', '990', '--json', ...data])
  t.match(JSON.parse(rest.out), { stored: 10 })

  const bvecs = path.join(dir, 'b.bvecs')
  writeFileSync(bvecs, Buffer.concat([0, 1].map((row) => Buffer.from([2, 0, 0, 0, row, 255]))))
  t.match((await annal(['import', 'b', bvecs, '--create', '--field', 'pixels', ...data])).out, /^2 objects/)
  const fvecs = path.join(dir, 'f.fvecs')
  const row = Buffer.alloc(12)
  row.writeInt32LE(2)
  row.writeFloatLE(0.5, 4)
  writeFileSync(fvecs, row)
  t.match((await annal(['import', 'f', fvecs, '--create', ...data])).out, /^1 object stored/)
})

test('invalid input is reported with its place and an exit code', async (t) => {
  const dir = freshDir(t)
  const { address, stop } = await serve(t, path.join(dir, 'data'))
  const bad = path.join(dir, 'bad.jsonl')
  writeFileSync(bad, '{"id":"a","fields":{"x":[1,2]}}\n{"id":\n')
  const refused: readonly [readonly string[], number, RegExp][] = [
    [['import', 'x', bad, '--create'], 65, /bad\.jsonl, line 2: not a JSON object/],
    [['import', 'nowhere', jsonl(dir)], 76, /collection_not_found/],
    [['import', 'x', path.join(dir, 'none.npy')], 64, /none\.npy: no such file or directory$/m],
    [['import', 'x', path.join(dir, 'none.jsonl')], 64, /none\.jsonl: no such file or directory$/m],
    [['backup', 'upload', path.join(dir, 'none.annal-backup')], 64, /none\.annal-backup: no such file or directory$/m],
    [['import', 'x', dir, '--format', 'jsonl'], 64, /a directory, not a file/],
    [['import', 'x', bad, '--format', 'npy'], 65, /not an NPY file/],
    [['restore', 'nothing', 'x'], 76, /backup_not_found/],
    [['restore', 'a', 'b', '--time', 'yesterday'], 64, /--time yesterday is not a time such as/],
    [['export', 'x', '--filter', '{'], 64, /JSON list of conditions/],
    [
      ['search', 'x', '--vector', '[1,2]', '--ef', '-3'],
      64,
      /^annal: option '--ef .*It must be a whole number, such as 10/,
    ],
    [['ls', '-s', '127.0.0.1:8080'], 64, /--server \(NDD_SERVER_URL\) "127\.0\.0\.1:8080": use a URL such as http/],
    [['ls', '-s', 'ftp://host'], 64, /"ftp:\/\/host": use a URL such as http/],
    [['ls', '-s', ''], 64, /"": use a URL such as http/],
    [['backup', 'list', '--data-dir', path.join(dir, 'data')], 73, /in use by process/],
  ]
  for (const [args, code, said] of refused) {
    const ended = await annal([...args], { NDD_SERVER_URL: address })
    t.equal(ended.code, code, args.join(' '))
    t.match(ended.err, said)
    t.notMatch(ended.err, /NDD_DATA_DIR|\n {4}at /, args.join(' '))
  }
  await stop()
  const secret = await annal(['ls'], { NDD_SERVER_URL: 'http://user:word@host' })
  t.match(secret, { code: 64, err: /must not contain a user or password; the token comes from ANNAL_TOKEN/ })
  const away = await annal(['backup', 'list'], { NDD_SERVER_URL: address })
  t.equal(away.code, 69)
  t.match(away.err, 'ECONNREFUSED')
})

test('an import says what it left behind, also after Ctrl-C', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'data'))
  const environment = { NDD_SERVER_URL: address }
  const bad = path.join(dir, 'bad.jsonl')
  writeFileSync(bad, '{"id":"a","fields":{"x":[1,2]}}\n{"id":"b","fields":{"x":[1]}}\n')
  const left = await annal(['import', 'left', bad, '--create'], environment)
  t.equal(left.code, 65, 'the data are wrong, and not the command')
  t.match(left.err, /^the collection left was created and has no objects; run the same command without --create$/m)
  const number = path.join(dir, 'number.jsonl')
  writeFileSync(number, '{"id":"a","fields":{"body":5}}\n')
  const text = { name: 'texts', fields: [{ name: 'body', type: 'text' }] }
  const headers = { 'content-type': 'application/json' }
  await fetch(`${address}/api/v2/collection`, { method: 'POST', headers, body: JSON.stringify(text) })
  const ofText = await annal(['import', 'texts', number], environment)
  t.match(ofText, { code: 65, err: /fields\.body must be / })
  for (const batch of ['5000', '0']) {
    const refused = await annal(['import', 'refused', bad, '--create', '--batch', batch], environment)
    t.match(refused, { code: 64, err: /one request can have 1 to 1,000 objects/ })
  }
  t.match(await annal(['count', 'refused'], environment), { code: 76 }, 'nothing was created')
  const many = path.join(dir, 'many.jsonl')
  writeFileSync(many, Array.from({ length: 300_000 }, (_, i) => `{"id":"${i}","fields":{"x":[${i},1]}}\n`).join(''))
  const { child, ended } = start(['import', 'many', many, '--create', '--batch', '100'], environment)
  const count = async () => Number((await annal(['count', 'many'], environment)).out)
  while (child.exitCode === null && !((await count()) > 0));
  child.kill('SIGINT')
  const { code, err } = await ended
  t.equal(code, 130, err)
  const [, stored = ''] =
    /^([\d,]+) objects are stored; run the same command with --skip \d+ to continue/m.exec(err) ?? []
  const said = Number(stored.replaceAll(',', ''))
  const found = await count()
  t.ok(said > 0 && said <= found && found <= said + 200, `${said} of ${found}`)
  t.match(err, /^annal: interrupted$/m)

  const file = path.join(dir, 'out.jsonl')
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const exporting = start(['export', 'many', '--output', file], environment)
    while (exporting.child.exitCode === null && !existsSync(`${file}.part`)) await setTimeout(5)
    exporting.child.kill(signal)
    const stopped = await exporting.ended
    t.match(stopped, { code: status, err: /annal: interrupted; nothing was written/ })
    t.notOk(existsSync(`${file}.part`) || existsSync(file), 'no file is left')
  }
})
