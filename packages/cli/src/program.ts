// The command line: which commands there are, what they take, and what the process ends with.
import { readFileSync } from 'node:fs'
import { Command, CommanderError, Option } from 'commander'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

interface PackageFile {
  readonly version: string
}

// One folder up from source and build alike.
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as PackageFile

const epilogue = `
Settings come from NDD_ environment variables; an option wins over its variable.
Exit codes: 0 good, 1 attention, 64 usage, 65 damaged, 69 unavailable, 70 our mistake, 73 locked, 74 disk, 76 refused,
77 permission, 78 configuration. All of it: docs/reference/cli.md`

/** Resolves to the exit code; undefined while a server that was started goes on. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number | undefined> {
  let ended: number | undefined = exitCode.good
  const program = describe(terminal, (code) => {
    ended = code
  })
  try {
    const [first] = args
    if (first !== undefined && /^[a-z]/i.test(first) && !isCommand(program, first)) {
      throw usageError(`there is no command ${first}; annal --help lists them`)
    }
    await program.parseAsync([...args], { from: 'user' })
    return ended
  } catch (error) {
    return await failed(error, terminal)
  } finally {
    terminal.bar.clear()
  }
}

/** Asked before parsing, since whatever is no command would be an argument too many of the default one. */
function isCommand(program: Command, name: string): boolean {
  return name === 'help' || program.commands.some((command) => command.name() === name)
}

async function failed(error: unknown, terminal: Terminal): Promise<number> {
  // Commander has printed what was wrong, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.good : exitCode.usage
  if (error instanceof CommandEnd) {
    if (error.message !== '') terminal.say(`annal: ${error.message}`)
    return error.exitCode
  }
  const { exitOf } = await import('@annal/server')
  const { code, lines } = exitOf(error)
  for (const line of lines) terminal.say(`annal: ${line}`)
  return code
}

type Ends = (code: number | undefined) => void

function describe(terminal: Terminal, ends: Ends): Command {
  const program = new Command('annal')
    .description('A vector database: a server, and tools for its data.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or that of a command')
    .addHelpText('after', epilogue)
    .showHelpAfterError('(annal --help lists the commands)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.line(text.trimEnd()),
      writeErr: (text) => terminal.say(text.trimEnd()),
    })
  serving(program, ends)
  dashboard(program, terminal, ends)
  looking(program, terminal, ends)
  licences(program, terminal, ends)
  return program
}

const directory = ['[dir]', 'data directory (default: NDD_DATA_DIR, or ./data)'] as const
const asJson = ['--json', 'print one JSON document instead of text'] as const

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

function looking(program: Command, terminal: Terminal, ends: Ends): void {
  program
    .command('doctor')
    .description('say what is wrong here and what to do: machine, disk, directory, log, port')
    .argument(...directory)
    .addOption(new Option('-p, --port <number>', 'the port that a server would use').argParser(wholeNumber))
    .addOption(new Option('--host <address>', 'the address that a server would listen on'))
    .option(...asJson)
    .action(async (dir, options) => {
      const { doctor } = await import('./commands/doctor.ts')
      ends(await doctor(dir, options, terminal))
    })

  program
    .command('verify')
    .description('check every byte of the log; works beside a running server')
    .argument(...directory)
    .option(...asJson)
    .action(async (dir, options) => {
      const { verify } = await import('./commands/verify.ts')
      ends(await verify(dir, options, terminal))
    })

  program
    .command('waldump')
    .description('print the log frame by frame, one JSON object a line; works beside a running server')
    .argument(...directory)
    .addOption(new Option('--from <lsn>', 'first record').argParser(wholeNumber))
    .addOption(new Option('--to <lsn>', 'last record').argParser(wholeNumber))
    .addOption(new Option('--payload <bytes>', 'how much of each payload to show, in base64').argParser(wholeNumber))
    .action(async (dir, options) => {
      const { waldump } = await import('./commands/waldump.ts')
      ends(await waldump(dir, options, terminal))
    })

  program
    .command('repair')
    .description('cut a damaged log before a record, on a copy; the last way out when no backup is left')
    .argument(...directory)
    .addOption(
      new Option('--truncate-at <lsn>', 'first record that is given up').argParser(wholeNumber).makeOptionMandatory(),
    )
    .option('--accept-data-loss', 'say that giving up records is accepted')
    .option(...asJson)
    .action(async (dir, options) => {
      const { repair } = await import('./commands/repair.ts')
      ends(await repair(dir, options, terminal))
    })
}

function licences(program: Command, terminal: Terminal, ends: Ends): void {
  const license = program.command('license').description('issue and read licences, for those who have the private key')
  license
    .command('keys')
    .description('make a pair of keys, and print the public one')
    .addOption(new Option('--out <file>', 'new file for the private key').makeOptionMandatory())
    .action(async (options) => {
      const { licenseKeys } = await import('./commands/license.ts')
      ends(await licenseKeys(options, terminal))
    })

  license
    .command('issue')
    .description('print a license.lic that is in force from now on')
    .addOption(new Option('--key <file>', 'the private key').makeOptionMandatory())
    .addOption(new Option('--plan <name>', 'what it is for, as the dashboard shows it').makeOptionMandatory())
    .addOption(new Option('--days <number>', 'how long').argParser(wholeNumber).makeOptionMandatory())
    .addOption(
      new Option('--directory <id>', 'machine_id of /api/v2/info; any directory when not given').default('any'),
    )
    .addOption(new Option('--id <name>', 'its number in your books'))
    .action(async (options) => {
      const { licenseIssue } = await import('./commands/license.ts')
      ends(await licenseIssue(options, terminal))
    })

  license
    .command('show')
    .description('say what a license.lic says, if its signature fits')
    .argument('<file>', 'the licence')
    .addOption(new Option('--public-key <key>', 'default: NDD_LICENSE_PUBLIC_KEY, or the built-in one'))
    .action(async (file, options) => {
      const { licenseShow } = await import('./commands/license.ts')
      ends(await licenseShow(file, options, terminal))
    })
}
