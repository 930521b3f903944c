// The commands of `annal bench` and their options.
import { type Command, Option } from 'commander'
import { usageError } from './exit-code.ts'
import { timeOf } from './moment.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number | undefined) => void

export function describeBench(program: Command, terminal: Terminal, ends: Ends): void {
  const bench = program
    .command('bench')
    .description('record, generate, replay, and compare traces of a log as benchmarks')
  recording(bench, terminal, ends)
  generating(bench, terminal, ends)
  replaying(bench, terminal, ends)
  comparing(bench, terminal, ends)
}

function recording(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('record')
    .description('write part of a log to a trace file; works while a server is running')
    .argument('[dir]', 'data directory (default: NDD_DATA_DIR, or ./data)')
    .addOption(new Option('-o, --out <file>', 'trace file; must not exist').makeOptionMandatory())
    .addOption(new Option('--from-lsn <lsn>', 'first record to include').argParser(wholeNumber))
    .addOption(new Option('--to-lsn <lsn>', 'last record to include').argParser(wholeNumber))
    .addOption(
      new Option('--from-time <time>', 'start time instead of --from-lsn, such as 2026-11-21T10:00:00Z').argParser(
        (text) => timeOf(text, '--from-time').getTime(),
      ),
    )
    .addOption(
      new Option('--to-time <time>', 'end time instead of --to-lsn').argParser((text) =>
        timeOf(text, '--to-time').getTime(),
      ),
    )
    .option('--anonymize', 'replace ids, names, and texts with tokens of the same length')
    // Until 1.0.
    .addOption(new Option('--anonymise').hideHelp())
    .option('--rotate', 'also apply a secret rotation to all vectors; distances are preserved')
    .option('--json', 'print one JSON document instead of text')
    .action(async (dir, options) => {
      const { record } = await import('./commands/bench.ts')
      ends(await record(dir, options, terminal))
    })
}

function generating(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('generate')
    .description('generate a trace from a seed: load, churn, drift, tenants, or hybrid')
    .argument('<workload>', 'load, churn, drift, tenants, or hybrid')
    .addOption(new Option('-o, --out <file>', 'trace file; must not exist').makeOptionMandatory())
    .addOption(
      new Option('--objects <number>', 'number of objects alive at any time (default: 10,000)').argParser(wholeNumber),
    )
    .addOption(new Option('--dimension <number>', 'numbers per vector (default: 128)').argParser(wholeNumber))
    .addOption(new Option('--batch <number>', 'objects per upsert (default: 100)').argParser(wholeNumber))
    .addOption(
      new Option('--queries-per-thousand <number>', 'searches per 1,000 objects written (default: 50)').argParser(
        wholeNumber,
      ),
    )
    .addOption(
      new Option('--seed <number>', 'random seed; the same seed generates the same file (default: 1)').argParser(
        wholeNumber,
      ),
    )
    .option('--json', 'print one JSON document instead of text')
    .action(async (workload, options) => {
      const { generate } = await import('./commands/bench.ts')
      ends(await generate(workload, options, terminal))
    })
}

function replaying(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('replay')
    .description('replay a trace in a new engine or against a server, and measure it')
    .argument('<trace>')
    .addOption(new Option('-s, --server <url>', 'URL of a running server, instead of a new engine'))
    .addOption(new Option('--token-file <file>', 'file with the server token (default: the token in NDD_AUTH_TOKEN)'))
    .addOption(new Option('--speed <speed>', '`max`, or a multiple of the recorded speed: 1x, 10x').argParser(speedOf))
    .addOption(
      new Option(
        '--precision <list>',
        'override the precision of the trace; comma-separated values are replayed in turn',
      ),
    )
    .addOption(new Option('--M <number>', 'graph links per node').argParser(wholeNumber))
    .addOption(
      new Option('--ef-construction <number>', 'size of the candidate pool during construction').argParser(wholeNumber),
    )
    .addOption(new Option('--threads <number>', 'worker threads').argParser(wholeNumber))
    .addOption(new Option('--until <lsn>', 'last record to replay').argParser(wholeNumber))
    .addOption(
      new Option('--stretches <number>', 'number of intervals to measure (default: 50)').argParser(wholeNumber),
    )
    .addOption(new Option('--fsync <policy>', 'fsync policy').choices(['always', 'interval', 'none']))
    .addOption(new Option('--scratch <dir>', 'data folder of the new engine (default: a new temporary folder)'))
    .addOption(new Option('-o, --out <file>', 'write the results as JSON'))
    .addOption(new Option('--html <file>', 'write an HTML report'))
    .option('--json', 'print the results instead of text')
    .action(async (trace, options) => {
      const { replay } = await import('./commands/bench.ts')
      ends(await replay(trace, options, terminal))
    })
}

function comparing(bench: Command, terminal: Terminal, ends: Ends): void {
  bench
    .command('compare')
    .description('compare two results of the same trace, interval by interval')
    .argument('<a>', 'JSON results of a replay')
    .argument('<b>', 'JSON results of another replay')
    .addOption(new Option('--html <file>', 'write an HTML report'))
    .option('--json', 'print one JSON document instead of text')
    .action(async (a, b, options) => {
      const { compare } = await import('./commands/bench.ts')
      ends(await compare(a, b, options, terminal))
    })
}

function speedOf(text: string): 'max' | number {
  if (text === 'max') return 'max'
  const times = Number(/^(\d{1,6}(?:\.\d{1,6})?)x?$/.exec(text)?.[1])
  if (times > 0) return times
  throw usageError(`${text} is not a valid speed; use max, 1x or 10x`)
}
