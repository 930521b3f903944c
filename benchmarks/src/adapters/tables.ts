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
  const number = (name: string) => short(line[name] ?? '')
  const speeds = Object.entries(line).filter(([name]) => /^(qps|rps)/.test(name))
  const speed = speeds.map(([name, value]) =>
    name.includes('_') ? `${short(value)} (${name.split('_')[1]})` : `${short(value)}`,
  )
  const seconds = ['build_s', 'upload_s', 'insert_s', 'optimize_s'].filter((name) => line[name] !== undefined)
  const recall = line.recall ?? line.precision
  return row([
    line.contender,
    line.case,
    [
      ...(typeof recall === 'number' ? [recall.toFixed(4)] : []),
      ...(typeof line.ndcg === 'number' ? [`nDCG ${line.ndcg.toFixed(4)}`] : []),
    ].join(', '),
    speed.join(', '),
    number('mean_ms'),
    number('p99_ms'),
    number('client_cpu_us'),
    number('server_cpu_us'),
    seconds.map((name) => `${name.slice(0, -2)} ${number(name)}`).join(', '),
    number('load'),
  ])
}

/** Three digits say what a figure of a shared machine says. */
function short(value: string | number): string | number {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value
}

function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`
}
