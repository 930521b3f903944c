// `npm run bench:ceilings -- --data DIR`: recall@10 of every precision, metric, and set at one ef, without and with the best candidates
// ordered by the original vectors, as `rescore` does. Compared with exact float32 search by similarity, not by ordinal, so that equal rows
// count the same. `--sets`, `--metrics`, `--precisions`, `--ef`, `--queries N` at most, `--out FILE` for a page of Markdown.
import { writeFileSync } from 'node:fs'
import type { Precision } from '@annal/engine'
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { dataFolder, readOptions } from '../options.ts'
import { type Dataset, normalizeForMetric, readDataset } from '../sets/dataset.ts'
import { fill } from '../sets/fill.ts'
import { openRescorer } from './rescorer.ts'
import { kthBest, type Metric, similarity } from './similarity.ts'

const values = readOptions({
  data: dataFolder(),
  sets: 'fashion-mnist,sift-bsds-a,bge-micro-notes-a,cranfield,cisi,npl',
  metrics: 'cosine,l2,ip',
  precisions: 'float32,float16,int16,int8,int4,int2,binary',
  ef: 128,
  queries: 200,
  out: String,
})
const k = 10
const version = 1e6
const { ef } = values
const precisions = values.precisions.split(',') as Precision[]
const pool = await openWorkerPool()
const rows: string[] = []
for (const name of values.sets.split(','))
  for (const metric of values.metrics.split(',') as Metric[]) {
    const set = await readDataset(values.data, name)
    const dataset = metric === 'cosine' ? normalizeForMetric({ ...set, metric }) : set
    rows.push(
      await measure({ ...dataset, queries: dataset.queries.subarray(0, values.queries * dataset.dimension) }, metric),
    )
    console.log(rows.at(-1))
  }
await pool.close()
const page = [
  `# Recall@10 at ef ${ef}`,
  '',
  `Without rescoring / with rescoring (originals read per search). M 16, ef_construction 128, at most ${values.queries} queries of each set.`,
  `Command: \`npm run bench:ceilings -- --data DIR --ef ${ef} --queries ${values.queries}\``,
  '',
  `| set | metric | ${precisions.join(' | ')} |`,
  `|---|---|${precisions.map(() => '---').join('|')}|`,
  ...rows,
  '',
].join('\n')
if (values.out !== undefined) writeFileSync(values.out, page)

async function measure(set: Dataset, metric: Metric): Promise<string> {
  const { name, dimension, queries } = set
  const queryOf = (i: number) => queries.subarray(i * dimension, (i + 1) * dimension)
  const nq = queries.length / dimension
  const truths = Array.from({ length: nq }, (_, i) => kthBest(set, queryOf(i), metric, k))
  const cells: string[] = []
  for (const precision of precisions) {
    const field = await fillField(set, metric, precision)
    const rescorer = await openRescorer(field, set.base, { dimension, spaceType: metric, precision })
    let [plain, rescored] = [0, 0]
    for (let i = 0; i < nq; i++) {
      const query = queryOf(i)
      const isGood = (row: number) => similarity(set, row, query, metric) >= (truths[i] as number)
      const found = field.searchSync(query, { k, ef, version })
      plain += found.ordinals.filter(isGood).length / k / nq
      rescored += (await rescorer.search(query, { k, ef })).filter(isGood).length / k / nq
    }
    cells.push(`${plain.toFixed(4)} / ${rescored.toFixed(4)} (${rescorer.takeReads().toFixed(0)})`)
    await rescorer.close()
    await field.close()
  }
  return `| ${name} | ${metric} | ${cells.join(' | ')} |`
}

async function fillField({ name, dimension, base }: Dataset, spaceType: Metric, precision: Precision) {
  const params = { dimension, spaceType, precision, M: 16, efConstruction: 128, rules: rulesNewest }
  const field = await openDenseField({ kind: 'dense', name: 'vector', params }, pool)
  await fill(field, base, dimension, `${name} ${spaceType} ${precision}`)
  return field
}
