// `annal evaluate`: how good the searches of a collection are against judged queries, for one setting or for two side by side.
import type { Client, Collection } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { type GivenQuery, type JudgedQueries, readJudgedQueries } from '../judging/judged-queries.ts'
import { type MeasureName, type Measures, mean, measure, measureNames } from '../judging/metrics.ts'
import { readSetting, type Setting } from '../judging/setting.ts'
import { randomizationTest, type Significance } from '../judging/significance.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface EvaluateOptions extends ConnectionOptions {
  readonly queries: string
  readonly qrels: string
  readonly a: string
  readonly b?: string
  readonly k: number
  readonly alpha: number
  readonly rounds: number
  readonly seed: number
  readonly top: number
  readonly json?: boolean
}

/** Searches in one request; the server runs them at one moment. */
const searchesAtOnce = 20

interface JudgedQuery {
  readonly query: GivenQuery
  readonly a: Measures
  readonly b: Measures | undefined
}

interface Comparison extends Significance {
  readonly difference: number
  readonly better: number
  readonly worse: number
  readonly equal: number
}

/** The exit code is 1 if nDCG of the second setting is significantly lower than that of the first one. */
export function evaluate(collection: string, options: EvaluateOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const judged = await readJudgedQueries(options.queries, options.qrels)
    const settings = await readSettings(client, collection, options)
    const measured = await measureAll(client.collection(collection), judged, settings, options.k, terminal)
    const comparisons = settings.b && compare(measured, options)
    if (options.json)
      terminal.line(JSON.stringify(report(collection, options, judged, settings, measured, comparisons)))
    else print(collection, options, judged, measured, comparisons, terminal)
    const { ndcg } = comparisons ?? {}
    return ndcg && ndcg.difference < 0 && ndcg.p < options.alpha ? exitCode.attention : exitCode.good
  })
}

interface Settings {
  readonly a: Setting
  readonly b: Setting | undefined
}

async function readSettings(client: Client, collection: string, { a, b, k }: EvaluateOptions): Promise<Settings> {
  const { fields } = await client.collection(collection).describe()
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  return { a: readSetting('--a', a, types, k), b: b === undefined ? undefined : readSetting('--b', b, types, k) }
}

async function measureAll(
  collection: Collection,
  { queries }: JudgedQueries,
  { a, b }: Settings,
  k: number,
  { bar }: Terminal,
): Promise<readonly JudgedQuery[]> {
  const measured: JudgedQuery[] = []
  for (let from = 0; from < queries.length; from += searchesAtOnce) {
    bar.show('queries', from, queries.length)
    const some = queries.slice(from, from + searchesAtOnce)
    const measuresOf = async (setting: Setting) => {
      const results = await collection.searchBatch(some.map(({ query }) => setting.requestOf(query)))
      return results.map((result, i) =>
        measure(setting.rankingOf(result), (some[i] as (typeof some)[number]).grades, k),
      )
    }
    const [ofA, ofB] = [await measuresOf(a), b && (await measuresOf(b))]
    for (const [i, { query }] of some.entries()) measured.push({ query, a: ofA[i] as Measures, b: ofB?.[i] })
  }
  bar.clear()
  return measured
}

function compare(measured: readonly JudgedQuery[], options: EvaluateOptions): Record<MeasureName, Comparison> {
  const compared = measureNames.map((name): [MeasureName, Comparison] => {
    const differences = measured.map((one) => differenceOf(one, name))
    const count = (isCounted: (difference: number) => boolean) => differences.filter(isCounted).length
    return [
      name,
      {
        difference: mean(differences),
        better: count((difference) => difference > 0),
        worse: count((difference) => difference < 0),
        equal: count((difference) => difference === 0),
        ...randomizationTest(differences, options),
      },
    ]
  })
  return Object.fromEntries(compared) as Record<MeasureName, Comparison>
}

function differenceOf({ a, b }: JudgedQuery, name: MeasureName): number {
  return (b?.[name] ?? 0) - a[name]
}

function means(measured: readonly JudgedQuery[], side: 'a' | 'b'): Measures {
  const of = (name: MeasureName) => mean(measured.map((one) => one[side]?.[name] ?? 0))
  return { ndcg: of('ndcg'), recall: of('recall'), mrr: of('mrr') }
}

function report(
  collection: string,
  { k, seed, alpha }: EvaluateOptions,
  { unjudged, missing }: JudgedQueries,
  { a, b }: Settings,
  measured: readonly JudgedQuery[],
  comparisons: Record<MeasureName, Comparison> | undefined,
) {
  return {
    ...{ collection, k, queries: measured.length, unjudged, missing },
    a: { setting: JSON.parse(a.text), ...means(measured, 'a') },
    ...(b && { b: { setting: JSON.parse(b.text), ...means(measured, 'b') } }),
    ...(comparisons && {
      seed,
      alpha,
      comparison: Object.fromEntries(
        Object.entries(comparisons).map(([name, { isExact, ...rest }]) => [name, { ...rest, exact: isExact }]),
      ),
    }),
    perQuery: measured.map(({ query, a: ofA, b: ofB }) => ({ id: query.id, a: ofA, ...(ofB && { b: ofB }) })),
  }
}

function print(
  collection: string,
  { k, top, seed }: EvaluateOptions,
  { unjudged, missing }: JudgedQueries,
  measured: readonly JudgedQuery[],
  comparisons: Record<MeasureName, Comparison> | undefined,
  terminal: Terminal,
): void {
  const labels = { ndcg: `nDCG@${k}`, recall: `recall@${k}`, mrr: `MRR@${k}` }
  terminal.line(`${collection}: ${measured.length} judged queries`)
  if (unjudged > 0) terminal.say(`${unjudged} queries have no relevant document and were left out`)
  if (missing > 0) terminal.say(`${missing} judged queries are not in the file of queries`)
  const [a, b] = [means(measured, 'a'), means(measured, 'b')]
  if (comparisons === undefined) {
    const rows = measureNames.map((name) => [labels[name], a[name].toFixed(4)])
    for (const line of aligned([['', 'A'], ...rows])) terminal.line(line)
    return
  }
  const rows = measureNames.map((name) => {
    const { difference, better, worse, equal, p } = comparisons[name]
    return [
      labels[name],
      a[name].toFixed(4),
      b[name].toFixed(4),
      signed(difference),
      `${better}`,
      `${worse}`,
      `${equal}`,
      shownP(p),
    ]
  })
  const head = ['', 'A', 'B', 'B - A', 'better', 'worse', 'equal', 'p']
  for (const line of aligned([head, ...rows])) terminal.line(line)
  const { rounds, isExact } = comparisons.ndcg
  const how = isExact ? `all ${rounds} assignments` : `${rounds} rounds, seed ${seed}`
  terminal.line(`p: paired randomization test of nDCG@${k} with ${how}`)
  const moved = [...measured]
    .filter((one) => differenceOf(one, 'ndcg') !== 0)
    .sort((x, y) => Math.abs(differenceOf(y, 'ndcg')) - Math.abs(differenceOf(x, 'ndcg')))
    .slice(0, top)
  if (moved.length === 0) return
  const lines = moved.map((one) => [
    ...[one.query.id, one.a.ndcg.toFixed(4), (one.b?.ndcg ?? 0).toFixed(4), signed(differenceOf(one, 'ndcg'))],
    (one.query.text ?? '').replaceAll(/\s+/g, ' ').slice(0, 60),
  ])
  terminal.line('')
  for (const line of aligned([['query', 'A', 'B', 'B - A', 'text'], ...lines])) terminal.line(line)
}

function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${value.toFixed(4)}`
}

function shownP(p: number): string {
  return p < 0.0001 ? '< 0.0001' : p.toFixed(4)
}
