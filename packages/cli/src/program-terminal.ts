// The commands for people at a terminal.
import { Argument, Command } from 'commander'
import type { Terminal } from './terminal.ts'

type Ends = (code: number) => void

const heading = 'Work in a terminal:'

export function describeTerminal(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup(heading)
  completing(program, terminal, ends)
  program.addHelpCommand(
    new Command('help').argument('[command]').description('print the help of a command').helpGroup(heading),
  )
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
