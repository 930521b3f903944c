// The commands for people at a terminal.
import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { ShellCommands } from './commands/shell.ts'
import { connected, served } from './connected.ts'
import { withTokenFile } from './secrets.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void

const heading = 'Work in a terminal:'

export function describeTerminal(program: Command, terminal: Terminal, ends: Ends, commands: ShellCommands): void {
  program.commandsGroup(heading)
  connected(program.command('shell'), { json: false })
    .description('run the commands on data at a prompt, with history and completion')
    .action(async (options) => {
      const { shell } = await import('./commands/shell.ts')
      ends(await shell(options, commands, terminal))
    })
  withTokenFile(served(program.command('top')))
    .description('show what a server does now: requests, rates, memory')
    .addOption(new Option('--interval <seconds>', 'time between measurements').default(2).argParser(seconds))
    .addOption(new Option('--count <count>', 'end after this many measurements').argParser(wholeNumber))
    .option('--once', 'print one measurement and end')
    .option('--json', 'print one JSON document for each measurement')
    .action(async (options) => {
      const { top } = await import('./commands/top.ts')
      ends(await top(options, terminal))
    })
  completing(program, terminal, ends)
  program.addHelpCommand(help().helpGroup(heading))
}

export function help(): Command {
  return new Command('help').argument('[command]').description('print the help of a command')
}

function seconds(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= 0.1 && value <= 3_600) return value
  throw new InvalidArgumentError('It must be from 0.1 to 3600.')
}

function completing(program: Command, terminal: Terminal, ends: Ends): void {
  program
    .command('completion')
    .description('print a script for completion of commands, options, and names of collections and fields in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  source <(annal completion bash)
  annal completion fish > ~/.config/fish/completions/annal.fish`,
    )
    .action(async (shell) => {
      const { printCompletion } = await import('./commands/completion.ts')
      ends(printCompletion(shell, terminal))
    })
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words) => {
      const { complete } = await import('./commands/completion.ts')
      ends(await complete(program, words, terminal))
    })
}
