// The commands that maintain a data directory.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

const directory = ['[dir]', 'data directory (default: NDD_DATA_DIR, or ./data)'] as const
const asJson = ['--json', 'print one JSON document instead of text'] as const

export function describeTools(program: Command, terminal: Terminal, ends: (code: number) => void): void {
  program.commandsGroup('Check and repair a data directory:')
  program
    .command('doctor')
    .description('check the machine, disk, directory, log, and port, and report what to fix')
    .argument(...directory)
    .addOption(new Option('-p, --port <number>', 'port of the server').argParser(wholeNumber))
    .addOption(new Option('--host <address>', 'address that the server listens on'))
    .option(...asJson)
    .action(async (dir, options) => {
      const { doctor } = await import('./commands/doctor.ts')
      ends(await doctor(dir, options, terminal))
    })

  program
    .command('verify')
    .description('verify every byte of the log; works while a server is running')
    .argument(...directory)
    .option('--checkpoints', 'also verify every byte of the checkpoints; no server may have the directory open')
    .option(
      '--deep',
      'also build the state from each checkpoint and from the log, and compare; needs as much memory as a start',
    )
    .option(...asJson)
    .action(async (dir, options) => {
      if (options.deep || options.checkpoints) {
        const { verifyDirectory } = await import('./commands/verify-directory.ts')
        ends(await verifyDirectory(dir, options, terminal))
        return
      }
      const { verify } = await import('./commands/verify.ts')
      ends(await verify(dir, options, terminal))
    })

  program
    .command('waldump')
    .description('print the log frame by frame, one JSON object per line; works while a server is running')
    .argument(...directory)
    .addOption(new Option('--from <lsn>', 'first record to print').argParser(wholeNumber))
    .addOption(new Option('--to <lsn>', 'last record to print').argParser(wholeNumber))
    .addOption(new Option('--payload <bytes>', 'bytes of each payload to print, in base64').argParser(wholeNumber))
    .action(async (dir, options) => {
      const { waldump } = await import('./commands/waldump.ts')
      ends(await waldump(dir, options, terminal))
    })

  program
    .command('archive')
    .description('report how far back a restore can reach, and verify every byte of the archive')
    .argument(...directory)
    .option(...asJson)
    .action(async (dir, options) => {
      const { archive } = await import('./commands/archive.ts')
      ends(await archive(dir, options, terminal))
    })

  program
    .command('repair')
    .description('cut a damaged log before a record and keep the original; a last resort when there is no backup')
    .argument(...directory)
    .addOption(
      new Option('--truncate-at <lsn>', 'first record to discard').argParser(wholeNumber).makeOptionMandatory(),
    )
    .option('--accept-data-loss', 'confirm that records will be discarded')
    .option(...asJson)
    .action(async (dir, options) => {
      const { repair } = await import('./commands/repair.ts')
      ends(await repair(dir, options, terminal))
    })
}
