// The commands of a license vendor.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

export function describeLicenses(program: Command, terminal: Terminal, ends: (code: number) => void): void {
  const license = program.command('license').description('create, issue, and read licenses')
  license
    .command('keys')
    .description('create a key pair and print the public key')
    .addOption(new Option('--out <file>', 'new file for the private key').makeOptionMandatory())
    .action(async (options) => {
      const { licenseKeys } = await import('./commands/license.ts')
      ends(await licenseKeys(options, terminal))
    })

  license
    .command('issue')
    .description('print a license.lic that is valid from now on')
    .addOption(new Option('--key <file>', 'file with the private key').makeOptionMandatory())
    .addOption(new Option('--plan <name>', 'plan name, as shown in the dashboard').makeOptionMandatory())
    .addOption(
      new Option('--days <number>', 'number of days that the license is valid')
        .argParser(wholeNumber)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--directory <id>', 'machine_id of /api/v2/info').default('any', 'any directory'))
    .addOption(new Option('--id <name>', 'license ID for your records'))
    .action(async (options) => {
      const { licenseIssue } = await import('./commands/license.ts')
      ends(await licenseIssue(options, terminal))
    })

  license
    .command('show')
    .description('print the contents of a license.lic if its signature is valid')
    .argument('<file>', 'license file')
    .addOption(new Option('--public-key <key>', 'public key (default: NDD_LICENSE_PUBLIC_KEY, or the built-in key)'))
    .action(async (file, options) => {
      const { licenseShow } = await import('./commands/license.ts')
      ends(await licenseShow(file, options, terminal))
    })
}
