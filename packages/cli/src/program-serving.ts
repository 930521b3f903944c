// The commands that serve.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number | undefined) => void

export function describeServing(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup('Serve:')
  serving(program, ends)
  following(program, terminal, ends)
  dashboard(program, terminal, ends)
}

function serving(program: Command, ends: Ends): void {
  program
    .command('serve', { isDefault: true })
    .description('start the HTTP server (the default command)')
    .addOption(new Option('-d, --data-dir <dir>', 'data directory, created if missing (default: ./data)'))
    .addOption(new Option('-p, --port <number>', 'port; 0 chooses a free port (default: 8080)'))
    .addOption(new Option('--host <address>', 'address to listen on (default: 127.0.0.1)'))
    .option(
      '--cluster <urls>',
      'NATS servers, comma-separated: serve as a node of a cluster; credentials come from NDD_CLUSTER_CREDENTIALS',
    )
    .action(async (options) => {
      const { serve } = await import('./commands/serve.ts')
      await serve(options)
      ends(undefined)
    })
}

function following(program: Command, terminal: Terminal, ends: Ends): void {
  program
    .command('follow')
    .description('serve the archive of another server for reads, and stay ready to take it over')
    .argument(
      '<url>',
      'the s3://BUCKET/PREFIX of its NDD_ARCHIVE_S3; credentials come from the standard AWS_* variables',
    )
    .addOption(new Option('-d, --data-dir <dir>', 'directory of the copy, empty at first (default: ./data)'))
    .addOption(new Option('-p, --port <number>', 'port; 0 chooses a free port (default: 8080)'))
    .addOption(new Option('--host <address>', 'address to listen on (default: 127.0.0.1)'))
    .action(async (url, options) => {
      const { serve } = await import('./commands/serve.ts')
      await serve({ ...options, follow: url })
      ends(undefined)
    })
  program
    .command('takeover')
    .description(
      'make a directory the writer of the archive that it follows; the archive then rejects every other server',
    )
    .argument('<dir>', 'the data directory, whether a server has it open or not')
    .option('--from <url>', 's3://BUCKET/PREFIX; fills the directory from there first if it is empty')
    .addOption(
      new Option('--timeout <seconds>', 'how long the server that has the directory open may take')
        .default(60)
        .argParser(wholeNumber),
    )
    .option('--json', 'print JSON')
    .action(async (dir, options) => {
      const { takeOver } = await import('./commands/follow.ts')
      ends(await takeOver(dir, options, terminal))
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
