// `node scripts/run.mjs benchmarks/src/sparse/main.ts`: sparse search compared with scoring every row in a tight loop, on text collections
// (ANNAL_DATA, else ../shared/data next to the repository) and on generated rows. Exits with code 1 if an answer differs or if the median
// is less than 5 times as fast on the largest collection. `--rows N`, `--seed N`, `--out FILE`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { readTextSet, type SparseRow, textSetNames } from '../../../packages/engine/test/search/text-set.ts'
import { readOptions } from '../options.ts'

const values = readOptions({ rows: 200_000, seed: 1, out: String })
const k = 10

interface Rows {
  readonly name: string
  readonly rows: number
  readonly queries: number
  readonly dimension: number
  sparse(row: number): SparseRow
  sparseQuery(query: number): SparseRow
}

interface Line {
  readonly name: string
  readonly rows: number
  readonly terms: number
  readonly queryTerms: number
  readonly everyMs: number
  readonly searchMs: number
  readonly speed: number
  readonly walked: number
  readonly equal: number
}

const sets: Rows[] = []
for (const name of textSetNames) {
  const set = readTextSet(name)
  if (set) sets.push({ ...set, dimension: set.sparseDimension })
  else console.error(`${name} is not on this machine (ANNAL_DATA): skipped`)
}
sets.push(generateRows(values.rows, values.seed))
const lines: Line[] = []
for (const set of sets) lines.push(await compare(set))
const page = report()
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
const slow = lines.find(({ name }) => name === 'npl')
process.exitCode = lines.every(({ equal }) => equal === 1) && (slow?.speed ?? 5) >= 5 ? 0 : 1

async function compare(set: Rows): Promise<Line> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-sparse-'))
  const engine = await openEngine({ dataDir, fsync: 'none' })
  try {
    const collection = await engine
      .database()
      .createCollection({ name: set.name, fields: [{ name: 'words', type: 'sparse' }] })
    for (let from = 0; from < set.rows; from += 1_000) {
      const objects = Array.from({ length: Math.min(1_000, set.rows - from) }, (_, i) => ({
        id: String(from + i),
        fields: { words: set.sparse(from + i) },
      }))
      await collection.upsert(objects)
    }
    const flat = flatten(set)
    const every: number[] = []
    const searched: number[] = []
    const ratios: number[] = []
    const walked: number[] = []
    let equal = 0
    let queryTerms = 0
    for (let query = 0; query < set.queries; query++) {
      const terms = set.sparseQuery(query)
      queryTerms += terms.indices.length / set.queries
      const request = { fields: { words: { query: terms, limit: k } }, explain: true }
      await collection.search(request)
      const started = performance.now()
      const { results, explain } = await collection.search(request)
      const middle = performance.now()
      const truth = scoreEvery(flat, terms, set.dimension)
      const ended = performance.now()
      searched.push(middle - started)
      every.push(ended - middle)
      ratios.push((ended - middle) / (middle - started))
      walked.push(explain?.fields.words?.visited ?? 0)
      const found = results.words ?? []
      const same = found.length === truth.length && found.every(({ similarity }, i) => near(similarity, truth[i] ?? 0))
      equal += same ? 1 / set.queries : 0
    }
    return {
      name: set.name,
      rows: set.rows,
      terms: flat.indices.length,
      queryTerms,
      everyMs: median(every),
      searchMs: median(searched),
      speed: median(ratios),
      walked: median(walked),
      equal: Math.round(equal * 1e6) / 1e6,
    }
  } finally {
    await engine.close()
    rmSync(dataDir, { recursive: true })
  }
}

interface Flat {
  readonly starts: Uint32Array
  readonly indices: Uint32Array
  readonly values: Float32Array
}

function flatten(set: Rows): Flat {
  const rows = Array.from({ length: set.rows }, (_, row) => set.sparse(row))
  const starts = new Uint32Array(set.rows + 1)
  rows.forEach(({ indices }, row) => {
    starts[row + 1] = (starts[row] as number) + indices.length
  })
  const indices = new Uint32Array(starts[set.rows] as number)
  const weights = new Float32Array(indices.length)
  rows.forEach((row, i) => {
    indices.set(row.indices, starts[i])
    weights.set(row.values, starts[i])
  })
  return { starts, indices, values: weights }
}

/** The k best scores, by scoring every row. */
function scoreEvery({ starts, indices, values }: Flat, query: SparseRow, dimension: number): number[] {
  const weights = new Float64Array(dimension)
  query.indices.forEach((index, i) => {
    weights[index] = Math.max(0, query.values[i] as number)
  })
  const best: number[] = []
  for (let row = 0; row + 1 < starts.length; row++) {
    let score = 0
    const end = starts[row + 1] as number
    for (let entry = starts[row] as number; entry < end; entry++)
      score += (weights[indices[entry] as number] as number) * (values[entry] as number)
    if (score === 0 || (best.length === k && score <= (best[k - 1] as number))) continue
    best.push(score)
    best.sort((a, b) => b - a)
    best.length = Math.min(best.length, k)
  }
  return best
}

/** Generates rows whose indices have the frequencies of words. */
function generateRows(rows: number, seed: number): Rows {
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const dimension = 30_000
  const some = (terms: number, power: number): SparseRow => {
    const indices = new Set<number>()
    while (indices.size < terms) indices.add(Math.floor(dimension * random() ** power))
    return { indices: Int32Array.from(indices), values: Float32Array.from(indices, () => 0.1 + 3 * random() ** 3) }
  }
  const all = Array.from({ length: rows }, () => some(40, 4))
  const queries = Array.from({ length: 100 }, () => some(8, 3))
  return {
    name: 'generated',
    rows,
    queries: queries.length,
    dimension,
    sparse: (row) => all[row] as SparseRow,
    sparseQuery: (query) => queries[query] as SparseRow,
  }
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= 2e-7 * Math.max(1, Math.abs(a), Math.abs(b))
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

function report(): string {
  const rows = lines.map((line) => {
    const { name, terms, queryTerms, everyMs, searchMs, speed, walked, equal } = line
    const counts = [line.rows, terms].map((n) => n.toLocaleString('en')).join(' | ')
    return `| ${name} | ${counts} | ${queryTerms.toFixed(1)} | ${everyMs.toFixed(3)} | ${searchMs.toFixed(3)} | ${speed.toFixed(1)} | ${walked.toLocaleString('en')} | ${(equal * 100).toFixed(0)} % |`
  })
  return [
    '# Sparse search',
    '',
    `Top ${k} through the engine, one query after another, compared with scoring every row in a loop over flat arrays. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/sparse/main.ts --rows ${values.rows} --seed ${values.seed}\``,
    '',
    '| set | rows | terms | terms of a query | every row, ms | search, ms | faster, median | postings walked | equal results |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
