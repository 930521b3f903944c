// The commands that serve.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number | undefined) => void

export function describeServing(program: Command, terminal: Terminal, ends: Ends): void {
  serving(program, ends)
  dashboard(program, terminal, ends)
}

function serving(program: Command, ends: Ends): void {
  program
    .command('serve', { isDefault: true })
    .description('serve HTTP; what `annal` alone does')
    .addOption(new Option('-d, --data-dir <dir>', 'where everything is stored; made when absent (default: ./data)'))
    .addOption(new Option('-p, --port <number>', '0 lets the system choose (default: 8080)'))
    .addOption(new Option('--host <address>', 'address to listen on (default: 127.0.0.1)'))
    .action(async (options) => {
      const { serve } = await import('./commands/serve.ts')
      await serve(options)
      ends(undefined)
    })
}

function dashboard(program: Command, terminal: Terminal, ends: Ends): void {
  program
    .command('dashboard')
    .description('serve the dashboard alone, for a server elsewhere; a server has it at / anyway')
    .addOption(new Option('-s, --server <url>', 'where the server is').env('NDD_SERVER_URL').makeOptionMandatory())
    .addOption(
      new Option('-p, --port <number>', '0 lets the system choose')
        .env('ANNAL_DASHBOARD_PORT')
        .default(8081)
        .argParser(wholeNumber),
    )
    .addOption(new Option('--host <address>', 'address to listen on').env('ANNAL_DASHBOARD_HOST').default('127.0.0.1'))
    .action(async (options) => {
      const { serveDashboard } = await import('./commands/dashboard.ts')
      await serveDashboard(options, terminal)
      ends(undefined)
    })
}
