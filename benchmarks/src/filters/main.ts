// `node scripts/run.mjs benchmarks/src/filters/main.ts`: time to evaluate a filter in one thread over a million objects, and speed of
// indexing, writing, and loading the index. Exits with code 1 if a median is over its limit. `--objects N`, `--repeats N`, `--seed N`,
// `--out FILE` for a page of Markdown, `--json FILE`.
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { FilterIndex, parseFilter, SectionReader, sourceOf, writeSections } from '@annal/engine/testing'
import { readOptions } from '../options.ts'
import { type FilterCase, filterCases } from './cases.ts'
import { objectsOf } from './objects.ts'

const values = readOptions({ objects: 1_000_000, repeats: 201, seed: 1, out: String, json: String })
const { objects: count, repeats, seed } = values

interface Answer extends FilterCase {
  readonly count: number
  readonly medianMs: number
  readonly p95Ms: number
}

const index = new FilterIndex({ low: seed, high: 0 })
const objects = [...objectsOf(count, seed)]
const setMs = measureTime(() => {
  for (const [ordinal, object] of objects.entries()) index.set(ordinal, { ...object })
})
const answers = filterCases(count).map(runQuery)
const pieces: Uint8Array[] = []
const dumpMs = measureTime(() => pieces.push(...writeSections(index.dump('filters'))))
const dumpBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
const started = performance.now()
const loaded = await FilterIndex.load(new SectionReader(sourceOf(pieces), 'benchmark'), 'filters')
const loadMs = performance.now() - started
if (loaded.count !== index.count) throw new Error(`loaded ${loaded.count} objects of ${index.count}`)

const page = report()
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ objects: count, answers })}\n`)
const late = answers.filter(({ medianMs, limitMs }) => limitMs !== undefined && medianMs > limitMs)
for (const { name, medianMs, limitMs } of late)
  console.error(`over its limit: ${name}, ${medianMs.toFixed(3)} ms > ${limitMs} ms`)
process.exitCode = late.length === 0 ? 0 : 1

function runQuery(question: FilterCase): Answer {
  const filter = parseFilter(question.filter)
  let found = 0
  const times = Array.from({ length: repeats }, () => measureTime(() => (found = index.evaluate(filter).count))).sort(
    (a, b) => a - b,
  )
  const quantile = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
  return { ...question, count: found, medianMs: quantile(0.5), p95Ms: quantile(0.95) }
}

function measureTime(run: () => unknown): number {
  const from = performance.now()
  run()
  return performance.now() - from
}

function report(): string {
  const processor = `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores`
  const rows = answers.map(
    ({ name, count: found, medianMs, p95Ms, limitMs }) =>
      `| ${name} | ${found.toLocaleString('en')} | ${medianMs.toFixed(3)} | ${p95Ms.toFixed(3)} | ${limitMs ?? ''} |`,
  )
  const rate = (ms: number, results: number): string => Math.round((results / ms) * 1_000).toLocaleString('en')
  return [
    '# Filters',
    '',
    `${count.toLocaleString('en')} objects with six filter values each, one thread; medians of ${repeats}. ${processor}, Node ${process.version}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/filters/main.ts --objects ${count} --repeats ${repeats} --seed ${seed}\``,
    '',
    '| filter | objects found | median ms | 95 % ms | limit ms |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Indexed ${rate(setMs, count)} objects per second; ${(index.bytes() / 1e6).toFixed(1)} MB in memory, ${(index.bytes() / count).toFixed(0)} bytes per object.`,
    `Wrote ${(dumpBytes / 1e6).toFixed(1)} MB in ${dumpMs.toFixed(0)} ms, loaded and verified in ${loadMs.toFixed(0)} ms.`,
    '',
  ].join('\n')
}
