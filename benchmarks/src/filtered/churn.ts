// `node scripts/run.mjs benchmarks/src/filtered/churn.ts`: recall of plain and filtered searches of Fashion-MNIST before and after ten
// rounds that each delete a fifth of the rows and insert as many others. Exits with code 1 if recall drops by more than 0.01 anywhere.
// `--data FOLDER`, `--rows N` (live rows; the set needs three times as many for new rows to come from it, otherwise rows are inserted
// again), `--queries N`, `--precision P`, `--out FILE`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, openEngine } from '@annal/engine'
import { dataFolder, readOptions } from '../options.ts'
import { byLabel, byShare, type Case, definitionOf, field, insert, unfiltered } from './load.ts'
import { readPhotos } from './photos.ts'
import { nearest, squaredDistance } from './things.ts'

const values = readOptions({
  data: dataFolder('fashion-mnist'),
  rows: 20_000,
  queries: 100,
  precision: 'int8',
  out: String,
})
const k = 10
const cycles = 10
const lossMax = 0.01
const { rows: alive } = values
const replaced = Math.floor(alive / 5)
const things = readPhotos(values.data, alive + cycles * replaced)
const queries = Math.min(values.queries, things.queries)
const cases: readonly Case[] = [
  unfiltered,
  ...[0.01, 0.1, 0.5].map((share) => byShare(things, share)),
  byLabel(things, "the query's own class, 10 %", (query) => things.queryLabel(query)),
  byLabel(things, 'another class, 10 %', (query) => (things.queryLabel(query) + 5) % 10),
]

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-churn-'))
const engine = await openEngine({ dataDir, fsync: 'none' })
try {
  const collection = await engine.database().createCollection(definitionOf(things, values.precision))
  const living: number[] = Array.from({ length: alive }, (_, row) => row)
  await insert(collection, things, living)
  const before = await measureRecalls(collection, new Set(living))
  for (let cycle = 0; cycle < cycles; cycle++) {
    // Every fifth live row, from a different start each time, so that old and new rows are deleted.
    const gone = living.filter((_, index) => index % 5 === cycle % 5)
    await collection.delete(gone.map(String))
    const away = new Set(gone)
    const fresh = Array.from({ length: gone.length }, (_, i) => alive + cycle * replaced + i)
    await insert(collection, things, fresh)
    living.splice(0, living.length, ...living.filter((row) => !away.has(row)), ...fresh)
  }
  const after = await measureRecalls(collection, new Set(living))
  const page = report(before, after)
  console.log(page)
  if (values.out !== undefined) writeFileSync(values.out, page)
  process.exitCode = after.every((recall, i) => recall >= (before[i] ?? 1) - lossMax) ? 0 : 1
} finally {
  await engine.close()
  rmSync(dataDir, { recursive: true })
}

async function measureRecalls(collection: Collection, living: ReadonlySet<number>): Promise<number[]> {
  const found: number[] = []
  for (const { filter, wanted } of cases) {
    let sum = 0
    for (let query = 0; query < queries; query++) {
      const vector = things.query(query)
      const isWanted = wanted(query)
      const truth = nearest(things, vector, k, (row) => living.has(row) && isWanted(row))
      const request = { fields: { [field]: { query: vector, limit: k } }, filter: filter(query) }
      const hits = (await collection.search(request)).results[field] ?? []
      const last = truth.at(-1) ?? 0
      sum += hits.filter(({ id }) => squaredDistance(things.row(Number(id)), vector) <= last).length / truth.length
    }
    found.push(sum / queries)
  }
  return found
}

function report(before: readonly number[], after: readonly number[]): string {
  const rows = cases.map(({ name }, i) => {
    const [first, last] = [before[i] ?? 0, after[i] ?? 0]
    return `| ${name} | ${first.toFixed(4)} | ${last.toFixed(4)} | ${(last - first).toFixed(4)} |`
  })
  return [
    '# Recall after churn',
    '',
    `Fashion-MNIST x ${things.dimension}, l2, ${values.precision}, default settings, ${alive.toLocaleString('en')} live rows; ${cycles} rounds that delete ${replaced.toLocaleString('en')} rows and insert as many others; ${queries} queries, k = ${k}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/filtered/churn.ts --rows ${alive} --queries ${queries} --precision ${values.precision}\``,
    '',
    '| filter | recall@10 before | after | difference |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
