// `annal bench`: what its commands take.
import { type Command, Option } from 'commander'
import { usageError } from './exit-code.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number | undefined) => void

export function describeBench(program: Command, terminal: Terminal, ends: Ends): void {
  const bench = program.command('bench').description('any log is a benchmark: record, make, replay and compare')
  recording(bench, terminal, ends)
  generating(bench, terminal, ends)
  replaying(bench, terminal, ends)
  comparing(bench, terminal, ends)
}

function recording(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('record')
    .description('cut a window of a log into a trace; works beside a running server')
    .argument('[dir]', 'data directory (default: NDD_DATA_DIR, or ./data)')
    .addOption(new Option('-o, --out <file>', 'the trace; must not exist').makeOptionMandatory())
    .addOption(new Option('--from-lsn <lsn>', 'first record').argParser(wholeNumber))
    .addOption(new Option('--to-lsn <lsn>', 'last record').argParser(wholeNumber))
    .addOption(
      new Option('--from-time <time>', 'the same by time, such as 2026-11-21T10:00:00Z').argParser(pointInTime),
    )
    .addOption(new Option('--to-time <time>', 'the same by time').argParser(pointInTime))
    .option('--anonymise', 'replace ids, names and texts by tokens of the same length')
    .option('--rotate', 'turn vectors by a secret rotation as well; distances stay')
    .option('--json', 'print one JSON document instead of text')
    .action(async (dir, options) => {
      const { record } = await import('./commands/bench.ts')
      ends(await record(dir, options, terminal))
    })
}

function generating(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('generate')
    .description('make a trace from a seed: load, churn, drift, tenants or hybrid')
    .argument('<workload>', 'load, churn, drift, tenants or hybrid')
    .addOption(new Option('-o, --out <file>', 'the trace; must not exist').makeOptionMandatory())
    .addOption(
      new Option('--objects <number>', 'objects that live at the same time (default: 10,000)').argParser(wholeNumber),
    )
    .addOption(new Option('--dimension <number>', 'numbers per vector (default: 128)').argParser(wholeNumber))
    .addOption(new Option('--batch <number>', 'objects per upsert (default: 100)').argParser(wholeNumber))
    .addOption(
      new Option('--queries-per-thousand <number>', 'searches for a thousand objects written (default: 50)').argParser(
        wholeNumber,
      ),
    )
    .addOption(new Option('--seed <number>', 'the same seed makes the same file (default: 1)').argParser(wholeNumber))
    .option('--json', 'print one JSON document instead of text')
    .action(async (workload, options) => {
      const { generate } = await import('./commands/bench.ts')
      ends(await generate(workload, options, terminal))
    })
}

function replaying(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('replay')
    .description('run a trace in a fresh engine or against a server, and measure it')
    .argument('<trace>')
    .addOption(new Option('-s, --server <url>', 'a running server instead of a fresh engine'))
    .addOption(new Option('--token <token>', 'of the server').env('NDD_AUTH_TOKEN'))
    .addOption(new Option('--speed <speed>', '`max`, or how many times as fast as it was: 1x, 10x').argParser(speedOf))
    .addOption(
      new Option(
        '--precision <list>',
        'in place of what the trace says; several, apart by commas, are replayed in turn',
      ),
    )
    .addOption(new Option('--M <number>', 'links of a node').argParser(wholeNumber))
    .addOption(new Option('--ef-construction <number>', 'pool while a node is linked').argParser(wholeNumber))
    .addOption(new Option('--threads <number>', 'worker threads').argParser(wholeNumber))
    .addOption(new Option('--until <lsn>', 'last record to replay').argParser(wholeNumber))
    .addOption(new Option('--stretches <number>', 'parts to measure in (default: 50)').argParser(wholeNumber))
    .addOption(new Option('--fsync <policy>', 'when a change is acknowledged').choices(['always', 'interval', 'none']))
    .addOption(
      new Option(
        '--scratch <dir>',
        'where the fresh engine keeps its data until it is done (default: a new temporary folder)',
      ),
    )
    .addOption(new Option('-o, --out <file>', 'results as JSON'))
    .addOption(new Option('--html <file>', 'a report to look at'))
    .option('--json', 'print the results instead of text')
    .action(async (trace, options) => {
      const { replay } = await import('./commands/bench.ts')
      ends(await replay(trace, options, terminal))
    })
}

function comparing(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('compare')
    .description('two results of the same trace, stretch against stretch')
    .argument('<a>', 'JSON of a replay')
    .argument('<b>', 'JSON of another')
    .addOption(new Option('--html <file>', 'a report to look at'))
    .option('--json', 'print one JSON document instead of text')
    .action(async (a, b, options) => {
      const { compare } = await import('./commands/bench.ts')
      ends(await compare(a, b, options, terminal))
    })
}

function pointInTime(text: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw usageError(`${text} is no point in time; write it like 2026-11-21T10:00:00Z`)
  return time
}

function speedOf(text: string): 'max' | number {
  if (text === 'max') return 'max'
  const times = Number(/^(\d{1,6}(?:\.\d{1,6})?)x?$/.exec(text)?.[1])
  if (times > 0) return times
  throw usageError(`${text} is no speed; write max, 1x or 10x`)
}
