// `npm run bench:binary -- --data DIR`: recall and errors of binary fields with the first rules of binary codes (2) and the current ones
// (3). Measures recall@k of each set's queries at one ef, by codes only and with the candidates rescored by float32 vectors, and the error
// of similarities from codes, for the k results and for all rows. Scan or walk is chosen as in the engine. `--reads SET`: the cost of the
// reads of rescoring in the engine. `--sets`, `--metrics`, `--k`, `--ef`, `--queries N` at most, `--rules 2,3`, `--out FILE` for a page of
// Markdown.
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { candidatesMaxFor, openDenseField, openWorkerPool, planDense, rulesNewest } from '@annal/engine/testing'
import { dataFolder, listOf, readOptions } from '../options.ts'
import { type Dataset, normalizeForMetric, readDataset } from '../sets/dataset.ts'
import { type Field, fill } from '../sets/fill.ts'
import { rescoringCost } from './rescoring-cost.ts'
import { kthBest, type Metric, similarity } from './similarity.ts'
import { Spread } from './spread.ts'

const values = readOptions({
  data: dataFolder(),
  sets: 'fashion-mnist,sift-bsds-a,bge-micro-notes-a,cranfield,cisi,npl',
  metrics: 'cosine,l2,ip',
  rules: `2,${rulesNewest}`,
  k: 10,
  ef: 128,
  queries: 200,
  reads: String,
  out: String,
})
const version = 1e6
const { k, ef } = values
/** Number of queries whose error of all rows is measured. Each has as many samples as there are rows. */
const scannedQueries = 10
const pool = await openWorkerPool()
const lines: string[] = []
for (const name of listOf(values.sets))
  for (const metric of values.metrics.split(',') as Metric[]) await measure(await readSet(name, metric), metric)
await pool.close()
const reads = values.reads === undefined ? [] : await measureReads(values.reads)
const [cpu] = cpus()
const command = `npm run bench:binary -- --data DIR --k ${k} --ef ${ef} --queries ${values.queries}`
const page = [
  `# Binary fields: recall@${k} and reported similarities at ef ${ef}`,
  '',
  `\`${command}\`; ${cpu?.model}, Node.js ${process.version}. Queries are the sets' own, at most ${values.queries}.`,
  '',
  '| set, dimensions | metric | rules | bytes a row: code, all | recall, rescored | candidates | recall, codes alone | error of those returned: mean, deviation | error of all rows: mean, deviation | of sd(similarity) | largest cosine |',
  '|---|---|---|---|---|---|---|---|---|---|---|',
  ...lines,
  '',
  ...reads,
].join('\n')
if (values.out !== undefined) writeFileSync(values.out, page)

/** For cosine, rows and queries have unit length, as the engine compares them. */
async function readSet(name: string, metric: Metric): Promise<Dataset> {
  const set = await readDataset(values.data, name)
  const prepared = metric === 'cosine' ? normalizeForMetric({ ...set, metric }) : set
  return { ...prepared, queries: prepared.queries.subarray(0, values.queries * prepared.dimension) }
}

async function measure(set: Dataset, metric: Metric): Promise<void> {
  const { name, dimension, queries } = set
  const nq = queries.length / dimension
  const truths = Array.from({ length: nq }, (_, i) => kthBest(set, queryOf(set, i), metric, k))
  for (const rules of values.rules.split(',').map(Number)) {
    const params = { dimension, spaceType: metric, precision: 'binary' as const, M: 16, efConstruction: 128, rules }
    const field = await openDenseField({ kind: 'dense', name: 'vector', params }, pool)
    await fill(field, set.base, dimension, `${name} ${metric} rules ${rules}`)
    const [alone, rescored] = [
      recallOf(set, metric, field, truths, k),
      recallOf(set, metric, field, truths, candidatesMaxFor(k, 'binary')),
    ]
    const all = await errorOfAll(set, metric, field)
    const { codes = 0, links = 0, rows: rest = 0 } = field.bytes()
    const n = set.base.length / dimension
    lines.push(
      `| ${name}, ${dimension} | ${metric} | ${rules} | ${(codes / n).toFixed(0)}, ${((codes + links + rest) / n).toFixed(0)} | ${rescored.recall.toFixed(4)} | ` +
        `${candidatesMaxFor(k, 'binary')} ${rescored.plan} | ${alone.recall.toFixed(4)} | ${formatNumber(alone.error)} | ${formatNumber(all.error)} | ` +
        `${(all.error.deviation() / all.similarity.deviation()).toFixed(3)} | ${metric === 'cosine' ? alone.largest.toFixed(3) : ''} |`,
    )
    console.log(lines.at(-1))
    await field.close()
  }
}

async function measureReads(name: string): Promise<string[]> {
  const costs = await rescoringCost(await readDataset(values.data, name))
  const shownCosts = costs.map(
    ({ callers, plainMs, rescoredMs, ratio }) =>
      `| ${callers} | ${plainMs.toFixed(2)} | ${rescoredMs.toFixed(2)} | ${ratio.toFixed(1)} |`,
  )
  const head = [`| ${name}: callers | ms per search, codes alone | rescored | ratio |`, '|---|---|---|---|']
  for (const line of [...head, ...shownCosts]) console.log(line)
  return [...head, ...shownCosts, '']
}

function queryOf({ queries, dimension }: Dataset, i: number): Float32Array {
  return queries.subarray(i * dimension, (i + 1) * dimension)
}

function formatNumber(error: Spread): string {
  return `${error.mean().toPrecision(2)}, ${error.deviation().toPrecision(2)}`
}

/** Share of the best k by float32 that are among the first `wanted` found by code. */
function recallOf(set: Dataset, metric: Metric, field: Field, truths: readonly number[], wanted: number) {
  const pooled = Math.max(ef, wanted)
  const { kind } = planDense({
    rows: field.rows,
    matches: undefined,
    ef: pooled,
    boostPercentage: 0,
    prefilterThreshold: undefined,
    exact: false,
  })
  const compared = kind === 'compare' ? field.rows : 0
  const error = new Spread()
  let [good, largest] = [0, 0]
  for (const [i, truth] of truths.entries()) {
    const query = queryOf(set, i)
    const { ordinals, similarities } = field.searchSync(query, { k: wanted, ef: pooled, version, compared })
    const exact = Array.from(ordinals, (row) => similarity(set, row, query, metric))
    good += Math.min(k, exact.filter((value) => value >= truth).length)
    for (const [index, value] of exact.entries()) {
      error.add((similarities[index] as number) - value)
      largest = Math.max(largest, Math.abs(similarities[index] as number))
    }
  }
  return { recall: good / k / truths.length, error, largest, plan: kind === 'compare' ? 'compared' : 'walked' }
}

async function errorOfAll(set: Dataset, metric: Metric, field: Field) {
  const [error, spread] = [new Spread(), new Spread()]
  const nq = Math.min(scannedQueries, set.queries.length / set.dimension)
  // Maximum number of rows of one scan; they are spread over all rows.
  const rowsMax = 8_192
  const step = Math.ceil(field.rows / rowsMax)
  const listed = Uint32Array.from({ length: Math.floor(field.rows / step) }, (_, i) => i * step)
  for (let i = 0; i < nq; i++) {
    const query = queryOf(set, i)
    const { ordinals, similarities } = await field.scan(query, { k: listed.length, version, ordinals: listed })
    for (const [index, row] of ordinals.entries()) {
      const exact = similarity(set, row, query, metric)
      error.add((similarities[index] as number) - exact)
      spread.add(exact)
    }
  }
  return { error, similarity: spread }
}
