// The command that judges searches.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { connected } from './connected.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

/** The largest limit of a search that a server can have. */
const kMax = 4_096
/** With so many rounds, p has an error below 0.001. */
const roundsMax = 10_000_000

export function describeJudging(program: Command, terminal: Terminal, ends: (code: number) => void): void {
  program.commandsGroup('Measure:')
  connected(program.command('evaluate'))
    .description(
      'measure nDCG, recall, and MRR of searches against judged queries, for one setting or two side by side',
    )
    .argument('<collection>', 'name or alias of the collection')
    .requiredOption('--queries <file>', 'JSONL: {"id","text"}, {"id","vector"} or {"id","fields"} in each line')
    .requiredOption('--qrels <file>', 'judgments: query, document, and grade in each line, separated by tabs')
    .requiredOption(
      '--a <search>',
      'a search as JSON without queries, such as {"fields":{"body":{}}}, or a file with one',
    )
    .option('--b <search>', 'a second search, compared with the first')
    .addOption(new Option('-k <number>', 'judge the first k results').argParser(within(1, kMax)).default(10))
    .addOption(
      new Option('--alpha <number>', 'with --b: exit with 1 if nDCG of B is lower and p is below this')
        .argParser(probability)
        .default(0.05),
    )
    .addOption(
      new Option('--rounds <number>', 'rounds of the randomization test')
        .argParser(within(100, roundsMax))
        .default(100_000),
    )
    .addOption(new Option('--seed <number>', 'seed of the test').argParser(within(0, 2 ** 32 - 1)).default(1))
    .addOption(
      new Option('--top <number>', 'queries to print, those that differ most')
        .argParser(within(0, 100_000))
        .default(10),
    )
    .action(async (collection, options) => {
      const { evaluate } = await import('./commands/evaluate.ts')
      ends(await evaluate(collection, options, terminal))
    })
}

function within(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = wholeNumber(text)
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be from ${min} to ${max}.`)
  }
}

function probability(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= 0 && value <= 1) return value
  throw new InvalidArgumentError('It must be from 0 to 1.')
}
