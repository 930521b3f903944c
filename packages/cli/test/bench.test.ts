// `annal bench` from the command line: a server's log is recorded while it runs, replayed in a new engine and against another server;
// generated traces are replayed with several precisions; results are printed and compared.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { connect } from '@annal/client'
import { test } from 'tap'
import { annal, freshDir, serve } from './command.ts'

test('the log of a running server is recorded, and replayed in an engine and against another server', async (t) => {
  const dir = freshDir(t)
  const { address } = await serve(t, path.join(dir, 'one'), { NDD_QUERY_LOG_PERCENT: '100' })
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 4 } }] as const
  const films = await connect({ url: address }).createCollection({ name: 'films', fields })
  for (let i = 0; i < 20; i++)
    await films.upsert([{ id: `film ${i}`, filter: { year: 1970 + i }, fields: { v: [1, i, i % 3, 2] } }])
  await films.delete('film 3')
  const search = { fields: { v: { query: [1, 2, 3, 4], limit: 3 } }, filter: [{ year: { $gt: 1975 } }] }
  await films.search(search)
  const trace = path.join(dir, 'films.trace')
  const recorded = await annal(['bench', 'record', path.join(dir, 'one'), '--out', trace, '--json'])
  t.equal(recorded.code, 0, recorded.err)
  t.match(JSON.parse(recorded.out), { events: 22, queries: 1 })
  t.match(await annal(['bench', 'record', path.join(dir, 'one'), '--out', trace]), { code: 76, err: /already exists/ })

  const replayed = await annal(['bench', 'replay', trace, '--stretches', '2', '--json'])
  t.equal(replayed.code, 0, replayed.err)
  t.match(JSON.parse(replayed.out)[0], { objects: 21, recall: 1, digests: { '1/films': /^[0-9a-f]{16}$/ } })

  const other = await serve(t, path.join(dir, 'two'))
  const served = await annal(['bench', 'replay', trace, '--server', other.address, '--stretches', '2'])
  t.match(served, { code: 0, out: /21 objects/ })
  const there = connect({ url: other.address }).collection('films')
  t.equal(await there.count(), 19)
  t.equal(await there.count([{ year: { $eq: 1980 } }]), 1)
})

test('a made trace is replayed with several precisions into one report, and two results are compared', async (t) => {
  const dir = freshDir(t)
  const file = (name: string) => path.join(dir, name)
  const size = ['--objects', '400', '--dimension', '8', '--queries-per-thousand', '50', '--batch', '20']
  t.match(await annal(['bench', 'generate', 'churn', '--out', file('churn.trace'), ...size]), {
    code: 0,
    out: /searches/,
  })
  const replay = ['bench', 'replay', file('churn.trace'), '--fsync', 'none', '--stretches', '5']
  const both = await annal([...replay, '--precision', 'int8,float32', '--html', file('report.html')])
  t.match(both, { code: 0, out: /precision int8.*\n.*precision float32/ })
  const page = readFileSync(file('report.html'), 'utf8')
  t.match(page, /Recall against exact search/)
  t.notMatch(page, /\b(src|href)\s*=\s*["']|@import|url\(/, 'nothing is loaded from elsewhere')
  for (const name of ['a.json', 'b.json']) t.equal((await annal([...replay, '--out', file(name)])).code, 0)
  const compared = await annal(['bench', 'compare', file('a.json'), file('b.json'), '--json'])
  t.ok(JSON.parse(compared.out).some(({ measure }: { measure: string }) => measure === 'objects per second'))
})

test('invalid arguments are refused with a reason and an exit code', async (t) => {
  const dir = freshDir(t)
  const out = path.join(dir, 'x.trace')
  t.match(await annal(['bench', 'generate', 'nonsense', '--out', out]), {
    code: 64,
    err: /workload must be one of load/,
  })
  t.match(await annal(['bench', 'record', path.join(dir, 'none'), '--out', out]), {
    code: 64,
    err: /no such directory:/,
  })
  t.match(await annal(['bench', 'record', dir, '--out', out, '--rotate']), { code: 64, err: /--anonymize/ })
  writeFileSync(out, 'this is no trace at all')
  t.match(await annal(['bench', 'replay', out]), { code: 65, err: /damaged at byte 0/ })
  t.match(await annal(['bench', 'replay', out, '--speed', 'fast']), { code: 64, err: /not a valid speed/ })
  t.match(await annal(['bench', 'replay', out, '--precision', 'int5']), { code: 64, err: /unknown precision/ })
})
