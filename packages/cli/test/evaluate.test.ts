// `annal evaluate` against a running server and on a closed directory: fields of texts and vectors, fusion, groups, exit codes.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'tap'
import { annal, freshDir, serve } from './command.ts'

const texts: readonly (readonly [doc: string, text: string, v: readonly number[]])[] = [
  ['fox', 'the quick brown fox', [0, 0]],
  ['fox', 'a fox and a hound and a hare and a hawk', [9, 9]],
  ['dog', 'the lazy dog sleeps', [1, 0]],
  ['dog', 'a brown dog', [2, 0]],
  ['bee', 'bees make honey', [3, 0]],
]

async function call(address: string, route: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(address + route, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(await reply.text())
}

test('searches are judged by settings, and two settings are compared', async (t) => {
  const dir = freshDir(t)
  const data = path.join(dir, 'data')
  const { address, stop } = await serve(t, data)
  const params = { dimension: 2, space_type: 'l2', precision: 'float32' }
  const fields = [
    { name: 'body', type: 'text', params: { language: 'english' } },
    { name: 'v', type: 'vector', params },
  ]
  await call(address, '/api/v2/collection', { name: 'texts', fields })
  const objects = texts.map(([doc, body, v], i) => ({ id: `t${i}`, fields: { body, v }, filter: { doc } }))
  await call(address, '/api/v2/collection/texts/objects', { objects })
  const file = (name: string, content: string) => {
    writeFileSync(path.join(dir, name), content)
    return path.join(dir, name)
  }
  const queries = file(
    'queries.jsonl',
    [
      { id: 'q1', text: 'foxes', vector: [0, 0] },
      { id: 'q2', text: 'honey', vector: [0, 0] },
      { id: 'q3', text: 'nothing judged', vector: [0, 0] },
    ]
      .map((query) => JSON.stringify(query))
      .join('\n'),
  )
  const qrels = file('qrels.tsv', 'query\tdocument\tgrade\nq1\tt0\t2\nq1\tt1\t1\nq2\tt4\t1\n')
  const ask = (...args: readonly string[]) =>
    annal(['evaluate', 'texts', '--queries', queries, '--qrels', qrels, ...args], { NDD_SERVER_URL: address })
  const words = '{"fields":{"body":{}}}'
  const vectors = file('vectors.json', '{"fields":{"v":{}}}')

  const one = await ask('--a', words)
  t.equal(one.code, 0, one.err)
  t.equal(one.out, 'texts: 2 judged queries\n           A\nnDCG@10    1.0000\nrecall@10  1.0000\nMRR@10     1.0000\n')
  t.match(one.err, /queries without a relevant document, which are left out: 1$/m)

  // The order by vectors is t0, t2, t3, t4, t1 for both queries.
  const two = await ask('--a', words, '--b', vectors, '--json')
  t.equal(two.code, 0, 'two queries are too few for a small p')
  const report = JSON.parse(two.out)
  const [first, second] = [(3 + 1 / Math.log2(6)) / (3 + 1 / Math.log2(3)), 1 / Math.log2(5)]
  t.match(report, { collection: 'texts', k: 10, queries: 2, unjudged: 1, missing: 0, a: { ndcg: 1 }, seed: 1 })
  t.ok(Math.abs(report.b.ndcg - (first + second) / 2) < 1e-9, 'by hand')
  t.same([report.b.recall, report.b.mrr], [1, (1 + 1 / 4) / 2])
  t.match(report.comparison.ndcg, { better: 0, worse: 2, equal: 0, p: 0.5, rounds: 4, exact: true })
  // Two differences: their mean and 12.7062 / 2 times their distance.
  const reach = (12.7062 / 2) * Math.abs(first - second)
  const { low, high } = report.comparison.ndcg.interval
  t.ok(Math.abs(high - low - 2 * reach) < 1e-4 && Math.abs(high + low - 2 * report.comparison.ndcg.difference) < 1e-9)
  t.match(report.perQuery[1], { id: 'q2', a: { ndcg: 1 }, b: { mrr: 0.25, recall: 1 } })
  t.same(report.b.setting, { fields: { v: {} } })

  const table = await ask('--a', words, '--b', vectors, '-k', '3', '--alpha', '1')
  t.equal(table.code, 1, 'B is worse, and p is below alpha')
  t.match(table.out, /nDCG@3 +1\.0000 +0\.\d{4} +-0\.\d{4} +-\d\.\d{4}\.\.[+-]\d\.\d{4} +0 +2 +0 +0\.5000\n/)
  t.match(table.out, /\nquery +A +B +B - A +text\nq2 +1\.0000 +0\.0000 +-1\.0000 +honey\nq1 /)

  const fusion = '{"fields":{"body":{},"v":{}},"fusion":{"method":"rrf"}}'
  t.match(JSON.parse((await ask('--a', fusion, '--json')).out), { a: { recall: 1 } })
  // Groups are judged as documents.
  const documents = file('documents.tsv', 'q1\tfox\t1\nq2\tbee\t1\n')
  const grouped = '{"fields":{"body":{}},"group_by":{"key":"doc"}}'
  const byDocument = await ask('--qrels', documents, '--a', grouped, '--json')
  t.match(JSON.parse(byDocument.out), { a: { ndcg: 1, recall: 1, mrr: 1 } }, byDocument.err)

  t.match(await ask('--a', '{"fields":{"none":{}}}'), { code: 64, err: /has no field none; it has body, v/ })
  t.match(await ask('--a', '{"fields":{"body":{"k1":-1}}}'), { code: 76, err: /limit_exceeded/ })
  t.match(await ask('--a', words, '--qrels', queries), { code: 65, err: /queries\.jsonl:1: a line must be/ })
  t.match(await ask('--a', words, '-k', '0'), { code: 64, err: /It must be from 1 to 4096/ })
  t.match(await ask(), { code: 64, err: /--a/ })
  t.match(await ask('--a', words, '--queries', path.join(dir, 'absent')), { code: 64, err: /absent/ })
  await stop()
  const closed = await annal([
    'evaluate',
    'texts',
    '-d',
    data,
    '--queries',
    queries,
    '--qrels',
    qrels,
    '--a',
    words,
    '--json',
  ])
  t.match(JSON.parse(closed.out), { a: { ndcg: 1 } })
})
