// `node scripts/run.mjs benchmarks/src/multi/main.ts`: multi-vector search of notes, each with the vectors of its passages (ANNAL_DATA,
// else ../shared/data), and of generated documents: the share of the best ten by all members that the candidates by pooled vectors contain,
// and the time. `--made N`, `--queries N`, `--out FILE`.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openEngine, type SearchHit } from '@annal/engine'
import { type Random, seededRandom } from '@annal/wal/testing'
import { dataFolder, readOptions } from '../options.ts'

const values = readOptions({ made: 5000, queries: 60, out: String })
const counts = [10, 100]
const poolings = ['mean', 'max'] as const
const { queries } = values
const pools = [undefined, 512]

interface Documents {
  readonly title: string
  readonly dimension: number
  readonly documents: readonly (readonly Float32Array[])[]
  readonly queries: readonly (readonly Float32Array[])[]
}

const rows: string[] = []
for (const set of [readNotes(), splitNotes(), generateDocuments(values.made)])
  for (const pooling of poolings) if (set) rows.push(...(await measure(set, pooling)))
const page = report()
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)

/** Passages of Markdown notes. A query is a passage that was removed from its note. */
function readNotes(): Documents | undefined {
  const folder = dataFolder('bge-micro-notes-a')
  if (!existsSync(folder)) {
    console.error(`${folder} does not exist: skipped`)
    return undefined
  }
  const floats = (file: string) => new Float32Array(new Uint8Array(readFileSync(path.join(folder, file))).buffer)
  const meta = JSON.parse(readFileSync(path.join(folder, 'meta.json'), 'utf8')) as { d: number }
  const rowsOf = (all: Float32Array) =>
    Array.from({ length: all.length / meta.d }, (_, i) => all.subarray(i * meta.d, (i + 1) * meta.d))
  const passages = rowsOf(floats('base.f32'))
  const lines = readFileSync(path.join(folder, 'docs.jsonl'), 'utf8').trimEnd().split('\n')
  const byPath = Map.groupBy(lines.entries(), ([, line]) => (JSON.parse(line) as { path: string }).path)
  const documents = [...byPath.values()].map((found) => found.map(([i]) => passages[i] as Float32Array))
  const queryVectors = rowsOf(floats('queries.f32')).map((row) => [row])
  return { title: 'notes, queried with one passage', dimension: meta.d, documents, queries: queryVectors }
}

/** The same passages in documents of eight: many documents that are hard to distinguish. */
function splitNotes(): Documents | undefined {
  const whole = readNotes()
  if (!whole) return undefined
  const passages = whole.documents.flat()
  const documents = Array.from({ length: Math.ceil(passages.length / 8) }, (_, i) => passages.slice(i * 8, i * 8 + 8))
  return { ...whole, title: 'notes in parts of eight passages, queried with one', documents }
}

/** Documents around random centers with members around each. A query resembles some members of one document. */
function generateDocuments(count: number): Documents {
  const dimension = 128
  const random = seededRandom(1)
  const near = (center: Float32Array, spread: number) => center.map((x) => x + spread * (random.next() - 0.5))
  const topics = Array.from({ length: 100 }, () => near(new Float32Array(dimension), 1))
  const documents = Array.from({ length: count }, () => {
    const own = near(pick(topics, random), 1)
    return Array.from({ length: 8 + random.below(48) }, () => near(own, 1.5))
  })
  const queryVectors = Array.from({ length: queries }, () => {
    const document = pick(documents, random)
    return Array.from({ length: 16 }, () => near(pick(document, random), 0.5))
  })
  return { title: 'generated, queried with 16 vectors', dimension, documents, queries: queryVectors }
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[random.below(items.length)] as T
}

async function measure(
  { title, dimension, documents, queries: all }: Documents,
  pooling: 'mean' | 'max',
): Promise<string[]> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-multi-'))
  const engine = await openEngine({ dataDir, fsync: 'none' })
  try {
    const params = { dimension, spaceType: 'cosine', precision: 'int8', pooling } as const
    const fields = [{ name: 'v', type: 'multi_vector', params }] as const
    const collection = await engine.database().createCollection({ name: 'documents', fields })
    for (let from = 0; from < documents.length; from += 200) {
      const some = documents.slice(from, from + 200)
      await collection.upsert(some.map((members, i) => ({ id: `${from + i}`, fields: { v: members } })))
    }
    const sample = all.slice(0, queries)
    const ask = async (query: readonly Float32Array[], limit: number, more: object, exact = false) =>
      (await collection.search({ fields: { v: { query, limit, ...more } }, exact })).results.v ?? []
    const truth: (readonly SearchHit[])[] = []
    for (const query of sample) truth.push(await ask(query, Math.max(...counts), {}, true))
    const members = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
    const lines: string[] = []
    for (const k of counts)
      for (const ef of pools) {
        const times: number[] = []
        let recall = 0
        for (const [i, query] of sample.entries()) {
          const started = performance.now()
          const hits = await ask(query, k, ef === undefined ? {} : { ef })
          times.push(performance.now() - started)
          const best = truth[i]?.slice(0, k) ?? []
          const last = best.at(-1)?.similarity ?? 0
          recall += hits.filter(({ similarity }) => similarity >= last).length / best.length / sample.length
        }
        const ms = times.sort((a, b) => a - b)[times.length >> 1] ?? 0
        const shape = `${documents.length.toLocaleString('en')} x ${members.toFixed(1)} x ${dimension}`
        lines.push(
          `| ${title} | ${shape} | ${pooling} | ${k} | ${ef ?? 'default'} | ${recall.toFixed(4)} | ${ms.toFixed(2)} |`,
        )
      }
    return lines
  } finally {
    await engine.close()
    rmSync(dataDir, { recursive: true })
  }
}

function report(): string {
  return [
    '# Multi-vector search',
    '',
    `Cosine, int8 graph; recall@k compared with an exact search over the members of every document, ${queries} queries one after another. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/multi/main.ts --made ${values.made} --queries ${values.queries}\``,
    '',
    '| set | documents x members x dimension | pooling | k | ef | recall@k | median ms |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
