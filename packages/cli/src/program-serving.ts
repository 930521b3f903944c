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
    .description('start the HTTP server (the default command)')
    .addOption(new Option('-d, --data-dir <dir>', 'data directory, created if missing (default: ./data)'))
    .addOption(new Option('-p, --port <number>', 'port; 0 chooses a free port (default: 8080)'))
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
    .description('serve only the dashboard, for a server elsewhere (every server also serves it at /)')
    .addOption(new Option('-s, --server <url>', 'URL of the server').env('NDD_SERVER_URL').makeOptionMandatory())
    .addOption(
      new Option('-p, --port <number>', 'port; 0 chooses a free port')
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
