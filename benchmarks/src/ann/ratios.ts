// Speed, build, and memory of each contender as multiples of hnswlib in the same run, next to figures of libraries that were measured elsewhere.
import { readFileSync } from 'node:fs'
import { median, type Point, speedAt } from './contender.ts'

/** One contender on one set: a curve of recall and speed for each k and each round. */
export interface Measured {
  readonly name: string
  readonly buildCpuSeconds: number
  readonly bytesPerRow: number | undefined
  readonly curves: ReadonlyMap<number, readonly (readonly Point[])[]>
}

export const targets = [0.95, 0.99, 0.995]

/** Median over the rounds of the ratio of speeds at each recall that both reach. */
export function speedRatios(own: Measured, peer: Measured, k: number): Record<string, number> {
  const ratios: Record<string, number> = {}
  for (const target of targets) {
    const perRound = (own.curves.get(k) ?? []).flatMap((points, round) => {
      const [a, b] = [speedAt(points, target), speedAt(peer.curves.get(k)?.[round] ?? [], target)]
      return a === undefined || b === undefined ? [] : [a / b]
    })
    if (perRound.length > 0) ratios[target] = round(median(perRound))
  }
  return ratios
}

/** Seconds of CPU that the peer's build took for each second of our own. */
export function buildRatio(own: Measured, peer: Measured): number {
  return round(peer.buildCpuSeconds / own.buildCpuSeconds)
}

interface Frontier {
  readonly measured: string
  readonly figures: readonly {
    readonly set: string
    readonly contender: string
    readonly speed: Readonly<Record<string, number>>
    readonly bytes_per_row?: number
    readonly build_s?: number
  }[]
}

/** One table of a set in Markdown. Without hnswlib in the run, ratios are missing. */
export function tableOf(set: string, measured: readonly Measured[], ks: readonly number[]): string {
  const frontier = JSON.parse(readFileSync(new URL('frontier.json', import.meta.url), 'utf8')) as Frontier
  const peer = measured.find(({ name }) => name === 'hnswlib')
  const heads = ks.map((k) => `k ${k}: speed at ${targets.join(' / ')}`)
  const rows = measured.map((one) => {
    const speeds = ks.map((k) => {
      const ratios = peer ? speedRatios(one, peer, k) : {}
      return targets.map((target) => ratios[target] ?? '-').join(' / ')
    })
    const build = `${one.buildCpuSeconds.toFixed(1)} (${peer ? buildRatio(one, peer) : '-'})`
    return [one.name, ...speeds, one.bytesPerRow ?? '-', build]
  })
  const elsewhere = frontier.figures.filter((figure) => figure.set === set)
  const reference = elsewhere.map(({ contender, speed, bytes_per_row, build_s }) => {
    const speeds = ks.map((k) => (k === 10 ? targets.map((target) => speed[target] ?? '-').join(' / ') : '-'))
    return [`${contender}, measured elsewhere`, ...speeds, bytes_per_row ?? '-', build_s ?? '-']
  })
  const lines = [
    ['contender', ...heads, 'bytes a row', 'build, CPU s (ratio)'],
    ['---', ...heads.map(() => '---'), '---', '---'],
    ...rows,
    ...reference,
  ]
  const note = reference.length > 0 ? `\nMeasured elsewhere: ${frontier.measured}\n` : ''
  return `## ${set}\n\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n${note}`
}

function round(value: number): number {
  return Number(value.toFixed(2))
}
