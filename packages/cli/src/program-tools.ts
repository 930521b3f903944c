// The commands that look after a data directory.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

const directory = ['[dir]', 'data directory (default: NDD_DATA_DIR, or ./data)'] as const
const asJson = ['--json', 'print one JSON document instead of text'] as const

export function describeTools(program: Command, terminal: Terminal, ends: (code: number) => void): void {
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
    .option('--checkpoints', 'also every byte of the checkpoints; no server may have the directory open')
    .option('--deep', 'also build the state by every way there is and compare; takes the memory of a start')
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
    .command('archive')
    .description('say how far back a restore can reach, and check every byte of what is archived')
    .argument(...directory)
    .option(...asJson)
    .action(async (dir, options) => {
      const { archive } = await import('./commands/archive.ts')
      ends(await archive(dir, options, terminal))
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
