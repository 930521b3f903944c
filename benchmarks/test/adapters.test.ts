// The adapters of benchmarks/adapters, called as their harnesses call them, find the true neighbors in a real server. Needs Debian's
// python3-numpy, python3-requests, python3-msgpack, python3-pydantic, python3-click, and python3-yaml.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { type Test, test } from 'tap'
import { realServer } from '../../packages/client/test/real-server.ts'
import { pythonModules, pythonWith, runHarness } from '../src/adapters/python.ts'
import { type Line, tableOf } from '../src/adapters/tables.ts'

tap.setTimeout(300_000)

const [rows, queries, dimension, answers, labels] = [400, 20, 8, 100, 4]
const runner = fileURLToPath(new URL('../adapters/run', import.meta.url))
const python = pythonWith(pythonModules)
const skip = python === undefined && `no python3 has ${pythonModules.join(', ')}`
const few = ['--k', '10', '--runs', '1', '--efs', '40', '--parallel', '1', '--concurrency', '1', '--seconds', '0.2']

test('adapters answer as their harnesses ask', { skip }, async (t) => {
  const url = await realServer(t, { threads: 1, environment: { NDD_NUM_THREADS: '1' } })
  const folder = writeSet(t)
  const run = (harness: string, ...options: string[]) =>
    runHarness([harness, '--url', url, '--data', folder, ...few, ...options])

  t.test('ann-benchmarks: single and batch queries, of the server and of the library', async (t) => {
    const lines = await run('ann-benchmarks')
    finds(t, lines, 4)
    const build = lines.filter((line) => line.case === 'build')
    t.strictSame(
      build.map(({ contender, rows: stored }) => [contender, stored]),
      [
        ['Annal', rows],
        ['AnnalEmbedded', rows],
      ],
    )
  })
  t.test('VectorDBBench: filters by number and by label, streaming, and capacity', async (t) => {
    const lines = await run('vectordbbench', '--rate', '400', '--capacity-seconds', '0.2', '--capacity-rows', '200')
    finds(t, lines, 5)
    t.ok(lines.some((line) => line.case.startsWith('id >= 396')))
    t.ok(lines.some((line) => line.case.startsWith('label')))
    t.match(
      lines.find((line) => line.case === 'capacity'),
      { failure: 'none' },
    )
    t.match(
      lines.find((line) => line.case.includes('rows a second')),
      { rows },
    )
  })
  t.test('VectorDBBench: texts by their words, and by a filter', async (t) => {
    finds(t, await run('vectordbbench-text', '--k', `${rows / queries}`), 3, 1)
  })
  t.test('vector-db-benchmark: ranges, matches, and sparse vectors', async (t) => {
    finds(t, await run('vector-db-benchmark'), 3)
    finds(t, await run('vector-db-benchmark-sparse'), 1, 1)
  })
  t.test('big-ann-benchmarks: filtered and sparse tracks from files in their formats', async (t) => {
    finds(t, await run('big-ann-filter'), 3)
    finds(t, await run('big-ann-sparse'), 1, 1)
  })
})

test('the command line of the adapter for VectorDBBench makes the configuration', { skip }, async (t) => {
  const lines = await pythonLines(`
from click.testing import CliRunner
from vectordb_bench.cli import cli as harness
from vectordb_bench.backend.clients.annal import cli as ours
arguments = ["annal", "--url", "http://a:1", "--token", "secret", "--m", "24", "--recall", "0.9", "--precision", "int4"]
done = CliRunner().invoke(harness.cli, arguments, catch_exceptions=False)
((db, config, case),) = harness.runs
print(done.exit_code, db.value, config.to_dict(), case.index_param(), case.search_param(), "secret" in repr(config))`)
  t.equal(
    lines[0],
    "0 Annal {'url': 'http://a:1', 'token': 'secret'} {'space_type': 'cosine', 'precision': 'int4', 'M': 24, 'ef_con': 128} {'recall': 0.9} False",
  )
})

test('a full-text case of VectorDBBench takes k1 and b of its data set, and reports what it does not take', {
  skip,
}, async (t) => {
  const lines = await pythonLines(`
from vectordb_bench.backend.clients.annal.config import AnnalFtsConfig
bm25, analyzer = {"k1": 0.9, "b": 0.4, "avgdl": 56.7}, {"tokenizer": "standard", "filter": ["lowercase"]}
config, report = AnnalFtsConfig().apply_fts_manifest(bm25, analyzer)
print(config.index_param())
print(report)
print(AnnalFtsConfig(language="english").apply_fts_manifest({}, analyzer)[1]["unapplied_analyzer_params"])`)
  t.strictSame(lines, [
    "{'language': 'none', 'k1': 0.9, 'b': 0.4}",
    "{'applied_bm25_params': {'k1': 0.9, 'b': 0.4}, 'unapplied_bm25_params': {'avgdl': 56.7}, " +
      "'applied_analyzer_params': {'tokenizer': 'standard', 'filter': ['lowercase']}, 'unapplied_analyzer_params': {}}",
    "{'tokenizer': 'standard', 'filter': ['lowercase']}",
  ])
})

test('conditions of vector-db-benchmark become filters, and those that Annal lacks are named', { skip }, async (t) => {
  const lines = await pythonLines(`
from engine.base_client import IncompatibilityError
from engine.clients.annal.parser import AnnalConditionParser
parse = AnnalConditionParser().parse
print(parse(None), parse({}))
print(parse({"and": [{"a": {"match": {"value": 1}}}, {"b": {"range": {"gt": 2, "lte": 5, "lt": None, "gte": None}}}]}))
print(parse({"or": [{"a": {"match": {"value": "x"}}}, {"a": {"match": {"any": ["y", "z"]}}}]}))
try:
    parse({"and": [{"p": {"geo": {"lat": 1, "lon": 2, "radius": 3}}}]})
except IncompatibilityError as error:
    print(error)`)
  t.strictSame(lines, [
    'None None',
    "[{'a': {'$eq': 1}}, {'$and': [{'b': {'$gt': 2}}, {'b': {'$lte': 5}}]}]",
    "[{'$or': [{'a': {'$eq': 'x'}}, {'a': {'$in': ['y', 'z']}}]}]",
    'Annal has no conditions on geographic positions',
  ])
})

test('files of big-ann-benchmarks are read as written, and damaged ones are rejected', { skip }, async (t) => {
  const lines = await pythonLines(`
import os, tempfile
import numpy as np
import data
folder = tempfile.mkdtemp()
at = lambda name: os.path.join(folder, name)
rows = np.arange(12, dtype=np.uint8).reshape(3, 4)
data.write_bin(at("a.u8bin"), rows)
print((data.read_bin(at("a.u8bin"), "u1") == rows).all(), os.path.getsize(at("a.u8bin")))
data.write_truth(at("a.ibin"), np.array([[2, -1]]), np.array([[0.5, 0]]))
print(*(part.tolist() for part in data.read_truth(at("a.ibin"))))
data.write_spmat(at("a.spmat"), data.matrix_of([[3, 1], [], [0]], 4))
read = data.read_spmat(at("a.spmat"))
print(read.shape, read.indptr.tolist(), read.indices.tolist(), read.data.tolist(), read[slice(1, 3)].indptr.tolist())
for name, load in (("a.u8bin", lambda file: data.read_bin(file, "u1")), ("a.ibin", data.read_truth), ("a.spmat", data.read_spmat)):
    os.truncate(at(name), os.path.getsize(at(name)) - 4)
    try:
        load(at(name))
    except ValueError as error:
        print("rejected", name in str(error))`)
  t.strictSame(lines, [
    'True 20',
    '[[2, -1]] [[0.5, 0.0]]',
    '(3, 4) [0, 2, 2, 3] [1, 3, 0] [1.0, 1.0, 1.0] [0, 0, 1]',
    'rejected True',
    'rejected True',
    'rejected True',
  ])
})

test('a table has a row for each line', (t) => {
  const line: Line = {
    harness: 'h',
    contender: 'Annal',
    set: 's',
    case: 'c',
    recall: 0.5,
    qps_4: 7,
    mean_ms: 1,
    load: 2,
  }
  const table = tableOf([line, { harness: 'h', contender: 'Annal', set: 's', case: 'load', insert_s: 3, load: 2 }])
  t.match(table, '| Annal | c | 0.5000 | 7 (4) | 1 |')
  t.match(table, 'insert 3')
  t.end()
})

/** The lines that a program prints that finds the adapters and what stands in for their harnesses. */
async function pythonLines(program: string): Promise<string[]> {
  const folders = [runner, path.join(runner, 'stubs'), path.join(runner, '../../../packages/client-python/src')]
  const env = { ...process.env, PYTHONPATH: folders.join(path.delimiter), PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await promisify(execFile)(python ?? '', ['-c', program], { env })
  return stdout.trimEnd().split('\n')
}

/** Every case with a recall finds the true neighbors. A field of 400 rows is compared completely, so only the precision costs something. */
function finds(t: Test, lines: readonly Line[], cases: number, least = 0.95): void {
  const found = lines.flatMap((line) => line.recall ?? line.precision ?? [])
  t.equal(found.length, cases)
  for (const recall of found) t.ok(Number(recall) >= least, `recall ${recall}`)
}

/** Rows of four groups, with labels and exact answers, and sparse vectors. The inner products of their whole numbers have no ties. */
function writeSet(t: Test): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'annal-adapters-test-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  let state = 7
  const random = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const make = (count: number) =>
    Array.from({ length: count }, (_, i) => Float32Array.from({ length: dimension }, () => random() + (i % labels)))
  const [base, searched] = [make(rows), make(queries)]
  const distance = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0)
  const truth = searched.map((query) =>
    base
      .map((row, i) => [distance(row, query), i] as const)
      .sort(([a], [b]) => a - b)
      .slice(0, answers)
      .map(([, i]) => i),
  )
  const write = (name: string, array: Uint8Array | Int32Array | Float32Array) =>
    writeFileSync(path.join(folder, name), array)
  writeFileSync(path.join(folder, 'meta.json'), JSON.stringify({ name: 'made', d: dimension, metric: 'l2' }))
  write('base.f32', Buffer.concat(base.map((row) => Buffer.from(row.buffer))))
  write('queries.f32', Buffer.concat(searched.map((row) => Buffer.from(row.buffer))))
  write('groundtruth.i32', Int32Array.from(truth.flat()))
  write(
    'base_labels.u8',
    Uint8Array.from({ length: rows }, (_, i) => i % labels),
  )
  writeSparse(write)
  writeTexts(folder)
  return folder
}

/** Every text has the word of one query, and is one of its answers. */
function writeTexts(folder: string): void {
  const line = (id: number, text: string) => JSON.stringify({ id: `${id}`, text })
  const write = (name: string, lines: readonly string[]) =>
    writeFileSync(path.join(folder, name), lines.map((one) => `${one}\n`).join(''))
  write(
    'docs.jsonl',
    Array.from({ length: rows }, (_, i) => line(i, `a text with word${i % queries}`)),
  )
  write(
    'queries.jsonl',
    Array.from({ length: queries }, (_, i) => line(i, `word${i}`)),
  )
  const judged = Array.from({ length: rows }, (_, i) => `${i % queries}\t${i}\t1`)
  write('qrels.tsv', ['query-id\tcorpus-id\tscore', ...judged])
}

function writeSparse(write: (name: string, array: Uint8Array | Int32Array | Float32Array) => void): void {
  // Row i has the weight i + 1 under the index i % 16, so a query of one index has its rows in descending order.
  const columns = 16
  const one = (count: number, column: (i: number) => number, weight: (i: number) => number) =>
    Buffer.concat([
      Buffer.from(BigInt64Array.of(BigInt(count), BigInt(columns), BigInt(count)).buffer),
      Buffer.from(BigInt64Array.from({ length: count + 1 }, (_, i) => BigInt(i)).buffer),
      Buffer.from(Int32Array.from({ length: count }, (_, i) => column(i)).buffer),
      Buffer.from(Float32Array.from({ length: count }, (_, i) => weight(i)).buffer),
    ])
  const own = (column: number) =>
    Array.from({ length: rows }, (_, i) => i)
      .filter((i) => i % columns === column)
      .reverse()
  const truth = Array.from({ length: columns }, (_, column) =>
    Array.from({ length: answers }, (_, i) => own(column)[i] ?? -1),
  )
  write(
    'sparse_base.csr',
    one(
      rows,
      (i) => i % columns,
      (i) => i + 1,
    ),
  )
  write(
    'sparse_queries.csr',
    one(
      columns,
      (i) => i,
      () => 1,
    ),
  )
  write('sparse_groundtruth.i32', Int32Array.from(truth.flat()))
  write(
    'sparse_groundtruth_score.f32',
    Float32Array.from(truth.flat(), (i) => i + 1),
  )
}
