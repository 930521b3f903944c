// `annal evaluate`: how good the searches of a collection are against judged queries, for one setting or for two side by side.
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Client } from '@annal/client'
import {
  type Comparisons,
  compareSettings,
  differenceOf,
  fieldKinds,
  type Interval,
  type JudgedQueries,
  type JudgedQuery,
  JudgingError,
  type Measures,
  meansOf,
  measureNames,
  measureSettings,
  mostDifferent,
  type NamedLines,
  parseSetting,
  readJudgedQueries,
  type Setting,
  type Settings,
} from '@annal/client/judging'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
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

type Measured = readonly JudgedQuery[]

/** The exit code is 1 if nDCG of the second setting is significantly lower than that of the first one. */
export function evaluate(collection: string, options: EvaluateOptions, terminal: Terminal): Promise<number> {
  return withClient(options, (client) =>
    judging(async () => {
      const { queries, qrels, k } = options
      const judged = await readJudgedQueries(linesOf(queries), linesOf(qrels))
      const settings = await readSettings(client, collection, options)
      const { bar } = terminal
      const searched = client.collection(collection)
      const measured = await measureSettings((requests) => searched.searchBatch(requests), judged, settings, {
        k,
        onProgress: (done, total) => bar.show('queries', done, total),
      })
      bar.clear()
      const comparisons = settings.b && compareSettings(measured, options)
      if (options.json)
        terminal.line(JSON.stringify(report(collection, options, judged, settings, measured, comparisons)))
      else print(collection, options, judged, measured, comparisons, terminal)
      const { ndcg } = comparisons ?? {}
      return ndcg && ndcg.difference < 0 && ndcg.p < options.alpha ? exitCode.attention : exitCode.good
    }),
  )
}

/** A wrong setting is wrong usage, and a wrong file is damaged data. */
async function judging(work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof JudgingError)) throw error
    throw error.source === 'setting' ? usageError(error.message) : new CommandEnd(exitCode.damaged, error.message)
  }
}

function linesOf(file: string): NamedLines {
  return { name: file, lines: fileLines(file) }
}

async function* fileLines(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file)
  try {
    yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
  } finally {
    stream.destroy()
  }
}

async function readSettings(client: Client, collection: string, { a, b, k }: EvaluateOptions): Promise<Settings> {
  const { fields } = await client.collection(collection).describe()
  const kinds = fieldKinds(fields)
  const read = (option: string, given: string): Setting => {
    const text = given.trimStart().startsWith('{') ? given : readFileSync(given, 'utf8')
    return parseSetting(option, text, kinds, k)
  }
  return { a: read('--a', a), b: b === undefined ? undefined : read('--b', b) }
}

function report(
  collection: string,
  { k, seed, alpha }: EvaluateOptions,
  { unjudged, missing }: JudgedQueries,
  { a, b }: Settings,
  measured: Measured,
  comparisons: Comparisons | undefined,
) {
  return {
    ...{ collection, k, queries: measured.length, unjudged, missing },
    a: { setting: JSON.parse(a.text), ...meansOf(measured, 'a') },
    ...(b && { b: { setting: JSON.parse(b.text), ...meansOf(measured, 'b') } }),
    ...(comparisons && {
      seed,
      alpha,
      comparison: Object.fromEntries(
        Object.entries(comparisons).map(([name, { isExact, ...rest }]) => [name, { ...rest, exact: isExact }]),
      ),
    }),
    perQuery: measured.map(({ query, a: ofA, b: ofB }) => ({
      ...{ id: query.id, a: measuresOf(ofA) },
      ...(ofB && { b: measuresOf(ofB) }),
    })),
  }
}

function measuresOf({ ndcg, recall, mrr }: Measures): Measures {
  return { ndcg, recall, mrr }
}

function print(
  collection: string,
  { k, top, seed }: EvaluateOptions,
  { unjudged, missing }: JudgedQueries,
  measured: Measured,
  comparisons: Comparisons | undefined,
  terminal: Terminal,
): void {
  const labels = { ndcg: `nDCG@${k}`, recall: `recall@${k}`, mrr: `MRR@${k}` }
  terminal.line(`${collection}: ${measured.length} judged queries`)
  if (unjudged > 0) terminal.say(`queries without a relevant document, which are left out: ${unjudged}`)
  if (missing > 0) terminal.say(`${missing} judged queries are not in the file of queries`)
  const [a, b] = [meansOf(measured, 'a'), meansOf(measured, 'b')]
  if (comparisons === undefined) {
    const rows = measureNames.map((name) => [labels[name], a[name].toFixed(4)])
    for (const line of aligned([['', 'A'], ...rows])) terminal.line(line)
    return
  }
  const rows = measureNames.map((name) => {
    const { difference, interval, better, worse, equal, p } = comparisons[name]
    return [
      labels[name],
      a[name].toFixed(4),
      b[name].toFixed(4),
      signed(difference),
      shownInterval(interval),
      `${better}`,
      `${worse}`,
      `${equal}`,
      shownP(p),
    ]
  })
  const head = ['', 'A', 'B', 'B - A', '95% interval', 'better', 'worse', 'equal', 'p']
  for (const line of aligned([head, ...rows])) terminal.line(line)
  const { rounds, isExact } = comparisons.ndcg
  const how = isExact ? `all ${rounds} assignments` : `${rounds} rounds, seed ${seed}`
  terminal.line(`p: paired randomization test of nDCG@${k} with ${how}`)
  const moved = mostDifferent(measured, top)
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

function shownInterval(interval: Interval | undefined): string {
  return interval === undefined ? '' : `${signed(interval.low)}..${signed(interval.high)}`
}

function shownP(p: number): string {
  return p < 0.0001 ? '< 0.0001' : p.toFixed(4)
}
