// The page of benchmarks: the last committed measurements, drawn from their JSON, with the machine and the command.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Figure } from '../../benchmarks/src/all/figures.ts'
import { drawCurves } from '../../benchmarks/src/ann/picture.ts'
import { bars } from './bars.ts'

interface Run {
  readonly command: string
  readonly ref: string
  readonly size: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly results: Readonly<Record<string, readonly Figure[]>>
}

/** Titles of the benchmarks in one run, by name. */
const titles: Readonly<Record<string, string>> = {
  ann: 'The index alone',
  wal: 'The log',
  http: 'Over HTTP',
  filters: 'Filters',
  replay: 'Replay',
  start: 'Start and size',
}

export function benchmarksPage(results: string): string {
  const names = readdirSync(results).filter((name) => name.endsWith('.md'))
  const run = path.join(results, 'all.json')
  return [
    '# Benchmarks',
    '',
    'These figures were measured with the given commands on the given machines and are committed unchanged in `benchmarks/results`. They are',
    'not guarantees: run the commands on your machine. [Guarantees](guarantees.md) lists what Annal promises. To measure Annal with a public',
    'benchmark, take [its adapter](#adapters-for-public-benchmarks) from `benchmarks/adapters`: VectorDBBench, ann-benchmarks,',
    'vector-db-benchmark, and big-ann-benchmarks.',
    ...(existsSync(run) ? everything(JSON.parse(readFileSync(run, 'utf8')) as Run) : []),
    ...names.sort().flatMap((name) => ['', chapterOf(path.join(results, name))]),
    '',
  ].join('\n')
}

function everything({ command, ref, machine, results }: Run): string[] {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`)
  return [
    '',
    '## All benchmarks in one run',
    '',
    `\`${command}\` at ${ref}: ${facts.join(', ')}. The sizes are small, to compare one version with another. \`--against REF\` runs both`,
    'versions alternately and reports a difference only if three quarters of the pairs agree on more than 5 %.',
    ...Object.entries(results).flatMap(([name, figures]) => ['', `### ${titles[name] ?? name}`, ...drawn(figures)]),
  ]
}

function drawn(figures: readonly Figure[]): string[] {
  const units = [...new Set(figures.map(({ unit }) => unit))]
  return units.flatMap((unit) => {
    const own = figures.filter((figure) => figure.unit === unit)
    const sense = own[0]?.more === 'better' ? 'more is better' : 'less is better'
    return ['', `In ${unit}; ${sense}:`, '', `<div class="picture">${bars(own)}</div>`]
  })
}

/** Returns a page of results as a chapter that ends with its picture. */
function chapterOf(file: string): string {
  const chapter = readFileSync(file, 'utf8')
    .trim()
    .replace(/^(#+ )/gm, '#$1')
    // Reports are the only files next to the results that are on the site, because they are complete pages.
    .replaceAll(/\[([^\]]+)\]\(([\w-]+\.html)\)/g, '<a href="./$2" target="_self">$1</a>')
    .replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, (_, text: string) => (text.includes('`') ? text : `\`${text}\``))
  const curves = curvesOf(file.replace(/\.md$/, '.jsonl'))
  const pictures = curves.length > 0 ? curves : pictureOf(file.replace(/\.md$/, '.svg'))
  return [chapter, ...pictures.map((picture) => `<div class="picture">${oneLine(picture)}</div>`)].join('\n\n')
}

interface MeasuredPoint {
  readonly set?: string
  readonly k?: number
  readonly contender?: string
  readonly recall?: number
  readonly cpu_qps?: number
}

/** Draws the points of recall and speed, if the results have them: one picture for each set and number of results. */
function curvesOf(file: string): string[] {
  if (!existsSync(file)) return []
  const points = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as MeasuredPoint)
    .flatMap(({ set, k = 10, contender = '', recall, cpu_qps: speed }) =>
      recall === undefined || speed === undefined
        ? []
        : [{ title: `${set}, k = ${k}`, label: contender, recall, speed }],
    )
  return [...Map.groupBy(points, ({ title }) => title)].map(([title, own]) => {
    const curves = [...Map.groupBy(own, ({ label }) => label)].map(([label, points]) => ({ label, points }))
    return drawCurves(title, curves)
  })
}

function pictureOf(file: string): string[] {
  return existsSync(file) ? [readFileSync(file, 'utf8')] : []
}

/** A blank line would end the block, and the page would read the rest as text. */
function oneLine(svg: string): string {
  return svg.replaceAll(/\n\s*/g, '')
}
