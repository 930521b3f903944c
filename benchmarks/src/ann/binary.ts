// `npm run bench:binary -- --data DIR`: what binary fields find and report, by the first binary rules (2) and today's (3): recall@k of
// their own queries at one ef, by codes alone and with the candidates that the engine reads rescored from float32 vectors; and the
// error of what codes report, of the k returned and of all rows. Whether rows are compared or the graph is walked is chosen as the
// engine does. `--reads SET`: what the reads of rescoring cost in the engine. `--sets`, `--metrics`, `--k`, `--ef`, `--queries N` at most, `--rules 2,3`, `--out FILE` for a page of Markdown.
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { candidatesFor, openDenseField, openWorkerPool, planDense, rulesNewest } from '@annal/engine/testing'
import { type Dataset, prepared, readDataset } from './dataset.ts'
import { type Field, fill } from './fill.ts'
import { rescoringCost } from './rescoring-cost.ts'
import { kthBest, type Metric, similarity } from './similarity.ts'
import { Spread } from './spread.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.ANNAL_DATA ?? '../shared/data' },
    sets: { type: 'string', default: 'fashion-mnist,sift-bsds-a,bge-micro-notes-a,cranfield,cisi,npl' },
    metrics: { type: 'string', default: 'cosine,l2,ip' },
    rules: { type: 'string', default: `2,${rulesNewest}` },
    k: { type: 'string', default: '10' },
    ef: { type: 'string', default: '128' },
    queries: { type: 'string', default: '200' },
    reads: { type: 'string' },
    out: { type: 'string' },
  },
})
const version = 1e6
const [k, ef] = [Number(values.k), Number(values.ef)]
/** Queries of which the error of all rows is taken: each is as many samples as there are rows. */
const scannedQueries = 10
const pool = await openWorkerPool()
const lines: string[] = []
for (const name of values.sets.split(',').filter((one) => one !== ''))
  for (const metric of values.metrics.split(',') as Metric[]) await measure(await readSet(name, metric), metric)
await pool.close()
const reads = values.reads === undefined ? [] : await readsOf(values.reads)
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

/** Under cosine rows and queries have unit length, as the engine compares them. */
async function readSet(name: string, metric: Metric): Promise<Dataset> {
  const set = await readDataset(values.data, name)
  const asked = metric === 'cosine' ? prepared({ ...set, metric }) : set
  return { ...asked, queries: asked.queries.subarray(0, Number(values.queries) * asked.dimension) }
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
      recallOf(set, metric, field, truths, candidatesFor(k, 'binary')),
    ]
    const all = await errorOfAll(set, metric, field)
    const { codes = 0, links = 0, rows: rest = 0 } = field.bytes()
    const n = set.base.length / dimension
    lines.push(
      `| ${name}, ${dimension} | ${metric} | ${rules} | ${(codes / n).toFixed(0)}, ${((codes + links + rest) / n).toFixed(0)} | ${rescored.recall.toFixed(4)} | ` +
        `${candidatesFor(k, 'binary')} ${rescored.plan} | ${alone.recall.toFixed(4)} | ${shown(alone.error)} | ${shown(all.error)} | ` +
        `${(all.error.deviation() / all.similarity.deviation()).toFixed(3)} | ${metric === 'cosine' ? alone.largest.toFixed(3) : ''} |`,
    )
    console.log(lines.at(-1))
    await field.close()
  }
}

async function readsOf(name: string): Promise<string[]> {
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

function shown(error: Spread): string {
  return `${error.mean().toPrecision(2)}, ${error.deviation().toPrecision(2)}`
}

/** Of the best k by float32 among `wanted` found by code. */
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
    for (const [at, value] of exact.entries()) {
      error.add((similarities[at] as number) - value)
      largest = Math.max(largest, Math.abs(similarities[at] as number))
    }
  }
  return { recall: good / k / truths.length, error, largest, plan: kind === 'compare' ? 'compared' : 'walked' }
}

async function errorOfAll(set: Dataset, metric: Metric, field: Field) {
  const [error, spread] = [new Spread(), new Spread()]
  const nq = Math.min(scannedQueries, set.queries.length / set.dimension)
  // As many as one scan can return, spread over all rows.
  const most = 8_192
  const step = Math.ceil(field.rows / most)
  const listed = Uint32Array.from({ length: Math.floor(field.rows / step) }, (_, i) => i * step)
  for (let i = 0; i < nq; i++) {
    const query = queryOf(set, i)
    const { ordinals, similarities } = await field.scan(query, { k: listed.length, version, ordinals: listed })
    for (const [at, row] of ordinals.entries()) {
      const exact = similarity(set, row, query, metric)
      error.add((similarities[at] as number) - exact)
      spread.add(exact)
    }
  }
  return { error, similarity: spread }
}
