// The commands for those who issue licences.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

export function describeLicenses(program: Command, terminal: Terminal, ends: (code: number) => void): void {
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
