// The list of benchmarks with their options at each size, and the figures in the JSON that each writes.
import { median, speedAt } from '../ann/contender.ts'

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly more: 'better' | 'worse'
}

export type Size = 'small' | 'full'

export interface Benchmark {
  readonly name: string
  /** Path below benchmarks/src. */
  readonly file: string
  /** Options except `--json`. */
  readonly options: Readonly<Record<Size, readonly string[]>>
  /** Whether it needs the data sets, `--data DIR`. */
  readonly data?: boolean
  figures(json: string): Figure[]
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'ann',
    file: 'ann/main.ts',
    options: {
      small: ['--sets', 'clustered-5000', '--peers', '', '--rounds', '3'],
      full: ['--sets', 'clustered-200000', '--peers', '', '--rounds', '3'],
    },
    figures: annFigures,
  },
  {
    name: 'kernel',
    file: 'kernel/main.ts',
    options: { small: ['--size', 'small'], full: [] },
    figures: namedFigures,
  },
  {
    name: 'wal',
    file: 'wal/main.ts',
    options: { small: ['--quick', '--pairs', '1'], full: ['--pairs', '3'] },
    figures: walFigures,
  },
  {
    name: 'http',
    file: 'http/main.ts',
    options: { small: ['--quick'], full: [] },
    data: true,
    figures: namedFigures,
  },
  {
    name: 'filters',
    file: 'filters/main.ts',
    options: { small: ['--objects', '100000', '--repeats', '51'], full: [] },
    figures: filterFigures,
  },
  {
    name: 'replay',
    file: 'replay/main.ts',
    options: {
      small: ['--objects', '1000', '--dimension', '32', '--pairs', '1'],
      full: ['--objects', '20000', '--pairs', '3'],
    },
    figures: replayFigures,
  },
  {
    name: 'start',
    file: 'start/main.ts',
    options: { small: ['--objects', '20000', '--tail', '2000'], full: [] },
    figures: startFigures,
  },
]

/** One figure for each measurement: build times, and points of recall and speed. */
function annFigures(json: string): Figure[] {
  interface Line {
    readonly set?: string
    readonly contender?: string
    readonly build_cpu_s?: number
    readonly ef?: number
    readonly k?: number
    readonly recall?: number
    readonly cpu_qps?: number
  }
  const lines = json
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const names = [
    ...new Set(lines.flatMap(({ set, contender, ef }) => (ef === undefined ? [] : [`${set} ${contender}`]))),
  ]
  return names.flatMap((name) => {
    const own = lines.filter(({ set, contender, k = 10 }) => `${set} ${contender}` === name && k === 10)
    const points = own.flatMap(({ recall, cpu_qps }) =>
      recall === undefined || cpu_qps === undefined ? [] : [{ recall, speed: cpu_qps }],
    )
    const speeds = [0.95, 0.99].flatMap((recall): Figure[] => {
      const value = speedAt(points, recall)
      return value === undefined
        ? []
        : [{ name: `${name}, recall ${recall}`, value, unit: 'queries a CPU second', more: 'better' }]
    })
    const builds = own.flatMap(({ build_cpu_s: value }): Figure[] =>
      value === undefined ? [] : [{ name: `${name}, build`, value, unit: 'CPU s', more: 'worse' }],
    )
    return [...speeds, ...builds]
  })
}

function walFigures(json: string): Figure[] {
  interface Result {
    readonly appendings: readonly {
      readonly load: { readonly fsync: string; readonly clients: number; readonly recordBytes: number }
      readonly acksPerSecond: number
    }[]
    readonly scannings: readonly { readonly recordBytes: number; readonly verifyMegabytesPerCpuSecond: number }[]
  }
  const { appendings, scannings } = JSON.parse(json) as Result
  return [
    ...appendings.map(({ load: { fsync, clients, recordBytes }, acksPerSecond }): Figure => {
      const name = `${fsync}, ${clients} clients, ${recordBytes} bytes`
      return { name, value: acksPerSecond, unit: 'acknowledgements a second', more: 'better' }
    }),
    ...scannings.map(({ recordBytes, verifyMegabytesPerCpuSecond: value }): Figure => {
      return { name: `verify, ${recordBytes} bytes`, value, unit: 'MB a CPU second', more: 'better' }
    }),
  ]
}

/** The figures of a benchmark that writes them in this form. */
function namedFigures(json: string): Figure[] {
  return (JSON.parse(json) as { readonly figures: Figure[] }).figures
}

function filterFigures(json: string): Figure[] {
  const { answers } = JSON.parse(json) as { answers: readonly { readonly name: string; readonly medianMs: number }[] }
  return answers.map(({ name, medianMs: value }): Figure => ({ name, value, unit: 'ms', more: 'worse' }))
}

function replayFigures(json: string): Figure[] {
  interface Result {
    readonly ratios: readonly number[]
    readonly precisions: readonly {
      readonly target: string
      readonly objectsPerSecond: number
      readonly recall?: number
    }[]
  }
  const { ratios, precisions } = JSON.parse(json) as Result
  return [
    { name: 'replayed against direct', value: median(ratios), unit: 'times', more: 'better' },
    ...precisions.flatMap(({ target, objectsPerSecond, recall }): Figure[] => [
      { name: `${target}, changes`, value: objectsPerSecond, unit: 'objects a second', more: 'better' },
      ...(recall === undefined
        ? []
        : [{ name: `${target}, recall`, value: recall, unit: 'recall', more: 'better' } as const]),
    ]),
  ]
}

function startFigures(json: string): Figure[] {
  const { figures } = JSON.parse(json) as { readonly figures: Readonly<Record<string, { readonly is: number }>> }
  return Object.entries(figures).map(([name, { is }]): Figure => {
    return { name, value: is, unit: name.endsWith('Ms') ? 'ms' : 'times', more: 'worse' }
  })
}
