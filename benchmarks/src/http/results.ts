// What the measurements of one row on one server add up to, and how they are printed.
import { pairedVerdict } from '@annal/replay'
import { median } from '../ann/contender.ts'
import { merge, quantile } from './histogram.ts'
import type { Measurement, Round } from './measure.ts'

/** Medians over rounds. Each round has connections of its own, so the worst round is the worst split of connections among threads. */
export interface RowResult {
  readonly row: string
  readonly contender: string
  readonly ef: number | undefined
  readonly rounds: number
  readonly requests: number
  readonly failures: number
  readonly perSecond: number
  readonly perSecondWorst: number
  readonly cpuUs: number | undefined
  readonly cpuUsWorst: number | undefined
  readonly cpuUsLeast: number | undefined
  readonly threadsUs: readonly number[]
  readonly compileUs: number | undefined
  /** Share of the connections and of the requests that the busiest thread had: the middle and the worst round. */
  readonly split: { readonly connections: Spread; readonly replies: Spread } | undefined
  readonly clientCpuUs: number
  /** Over the requests of all rounds. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly p99WorstMs: number
  readonly recall: number | undefined
  readonly lateMs: number
  readonly batchesPerSecond: number | undefined
  /** One-minute load of the machine at the end. */
  readonly load: number
}

interface Spread {
  readonly middle: number
  readonly worst: number
}

export interface RowFacts {
  readonly row: string
  readonly contender: string
  readonly ef: number | undefined
  readonly load: number
}

export function resultOf(facts: RowFacts, measurements: readonly Measurement[]): RowResult {
  const rounds = measurements.map(({ round }) => round)
  const all = merge(measurements.map(({ latencies }) => latencies))
  const sum = (value: (round: Round) => number): number => rounds.reduce((total, round) => total + value(round), 0)
  const middle = (value: (round: Round) => number | undefined): number | undefined => {
    const values = rounds.map(value).filter((one) => one !== undefined)
    return values.length === 0 ? undefined : median(values)
  }
  const splits = rounds.flatMap(({ split }) => split ?? [])
  const spread = (values: readonly number[]): Spread => ({ middle: median([...values]), worst: Math.max(...values) })
  const cpus = rounds.flatMap(({ cpuUs }) => cpuUs ?? [])
  return {
    ...facts,
    rounds: rounds.length,
    requests: sum(({ replies }) => replies),
    failures: sum(({ failures }) => failures),
    perSecond: middle(({ perSecond }) => perSecond)!,
    perSecondWorst: Math.min(...rounds.map(({ perSecond }) => perSecond)),
    cpuUs: middle(({ cpuUs }) => cpuUs),
    cpuUsWorst: cpus.length === 0 ? undefined : Math.max(...cpus),
    cpuUsLeast: cpus.length === 0 ? undefined : Math.min(...cpus),
    threadsUs: [0, 1, 2, 3].flatMap((thread) => middle(({ threadsUs }) => threadsUs[thread]) ?? []),
    compileUs: middle(({ compileUs }) => compileUs),
    split:
      splits.length === 0
        ? undefined
        : {
            connections: spread(splits.map(({ connections }) => connections)),
            replies: spread(splits.map(({ replies }) => replies)),
          },
    clientCpuUs: middle(({ clientCpuUs }) => clientCpuUs)!,
    p50Ms: quantile(all, 0.5),
    p99Ms: quantile(all, 0.99),
    p999Ms: quantile(all, 0.999),
    p99WorstMs: Math.max(...rounds.map(({ p99Ms }) => p99Ms)),
    recall: middle(({ recall }) => recall),
    lateMs: middle(({ lateMs }) => lateMs)!,
    batchesPerSecond: middle(({ batchesPerSecond }) => batchesPerSecond),
  }
}

/** Rounds of two servers as ratios, round by round. */
export function ratioText(first: readonly Measurement[], second: readonly Measurement[]): string {
  const ratios = (value: (round: Round) => number | undefined): number[] =>
    second.flatMap(({ round }, i) => {
      const [was, is] = [first[i] && value(first[i].round), value(round)]
      return was === undefined || is === undefined ? [] : [is / was]
    })
  const text = (name: string, values: number[], more: 'better' | 'worse'): string[] => {
    const verdict = pairedVerdict(values, { more, sameWithin: 0.02 })
    return verdict === undefined ? [] : [`${name} x ${verdict.ratio.toFixed(3)} (${verdict.verdict})`]
  }
  return [
    ...text(
      'q/s',
      ratios(({ perSecond }) => perSecond),
      'better',
    ),
    ...text(
      'CPU',
      ratios(({ cpuUs }) => cpuUs),
      'worse',
    ),
    ...text(
      'p99',
      ratios(({ p99Ms }) => p99Ms),
      'worse',
    ),
  ].join(', ')
}

export const tableHead = [
  '| load | server | ef | recall | q/s | worst round | CPU us | least | worst | busiest threads us | V8 us | fullest thread %, worst: connections, requests | client us | p50 ms | p99 | p99.9 | worst p99 |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|',
]

export function tableLine(result: RowResult): string {
  const { row, contender, ef, recall, failures, batchesPerSecond, threadsUs } = result
  const notes = [
    ...(failures === 0 ? [] : [`${failures} of ${result.requests} FAILED`]),
    ...(batchesPerSecond === undefined ? [] : [`${batchesPerSecond.toFixed(1)} batches a second`]),
  ]
  const cells = [
    [row, ...notes].join('; '),
    contender,
    ef ?? '',
    recall?.toFixed(4) ?? '',
    result.perSecond.toFixed(0),
    result.perSecondWorst.toFixed(0),
    result.cpuUs?.toFixed(0) ?? '',
    result.cpuUsLeast?.toFixed(0) ?? '',
    result.cpuUsWorst?.toFixed(0) ?? '',
    threadsUs.map((us) => us.toFixed(0)).join(' + '),
    result.compileUs?.toFixed(1) ?? '',
    result.split === undefined
      ? ''
      : [result.split.connections, result.split.replies]
          .map(({ middle, worst }) => `${(100 * middle).toFixed(0)}, ${(100 * worst).toFixed(0)}`)
          .join('; '),
    result.clientCpuUs.toFixed(0),
    ...[result.p50Ms, result.p99Ms, result.p999Ms, result.p99WorstMs].map((ms) => ms.toFixed(2)),
  ]
  return `| ${cells.join(' | ')} |`
}
