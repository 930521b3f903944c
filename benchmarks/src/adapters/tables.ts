// The lines that the runner prints, as tables: one for each harness, a row for each contender and case.

export type Line = {
  readonly harness: string
  readonly contender: string
  readonly set: string
  readonly case: string
} & Readonly<Record<string, string | number>>

const heads = [
  'contender',
  'case',
  'recall',
  'queries per second',
  'mean ms',
  'p95 ms',
  'p99 ms',
  'CPU us of client',
  'CPU us of server',
  'seconds',
  'load',
]

export function tableOf(lines: readonly Line[]): string {
  const parts = [...Map.groupBy(lines, ({ harness, set }) => `## ${harness}, ${set}`)]
  return parts
    .map(([title, own]) => [title, '', row(heads), row(heads.map(() => '---')), ...own.map(rowOf), ''].join('\n'))
    .join('\n')
}

function rowOf(line: Line): string {
  const number = (...names: readonly string[]) =>
    names.map((name) => line[name]).find((value) => value !== undefined) ?? ''
  const speeds = Object.entries(line).filter(([name]) => /^(qps|rps)/.test(name))
  const speed = speeds.map(([name, value]) => (name.includes('_') ? `${value} (${name.split('_')[1]})` : `${value}`))
  const seconds = ['build_s', 'upload_s', 'insert_s', 'optimize_s'].filter((name) => line[name] !== undefined)
  return row([
    line.contender,
    line.case,
    number('recall', 'precision'),
    speed.join(', '),
    number('mean_ms'),
    number('p95_ms'),
    number('p99_ms'),
    number('client_cpu_us'),
    number('server_cpu_us'),
    seconds.map((name) => `${name.slice(0, -2)} ${line[name]}`).join(', '),
    number('load'),
  ])
}

function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`
}
