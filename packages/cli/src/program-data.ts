// The commands that read and write data on a server or in a closed data directory.
import { type Command, Option } from 'commander'
import { connected } from './connected.ts'
import { describeMoving } from './program-moving.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void

export function describeData(program: Command, terminal: Terminal, ends: Ends): void {
  backups(program, terminal, ends)
  restoring(program, terminal, ends)
  describeMoving(program, terminal, ends)
  connected(program.command('providers'))
    .description('list the providers that compute vectors of texts for a server')
    .action(async (options) => {
      const { listProviders } = await import('./commands/providers.ts')
      ends(await listProviders(options, terminal))
    })
  agents(program, ends)
}

function backups(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup('Back up and restore:')
  const backup = program.command('backup').description('create, list, verify, move, and delete backups of collections')
  const commands = () => import('./commands/backup.ts')
  const bucket = () => import('./commands/bucket.ts')
  connected(backup.command('create'))
    .description('back up a collection, and wait until the backup is complete')
    .argument('<collection>', 'name or alias of the collection')
    .argument('[name]', 'backup name (default: collection and time)')
    .option('--to <url>', 'also push the backup to s3://BUCKET/PREFIX')
    .action(async (collection, name, options) =>
      ends(await (await commands()).createBackup(collection, name, options, terminal)),
    )
  connected(backup.command('list'))
    .description('list all backups')
    .option('--at <url>', 'list the backups at s3://BUCKET/PREFIX instead')
    .action(async ({ at: address, ...options }) =>
      ends(
        await (address
          ? (await bucket()).listBucket(address, options, terminal)
          : (await commands()).listBackups(options, terminal)),
      ),
    )
  connected(backup.command('info'))
    .description('describe a backup')
    .argument('<name>', 'name of the backup')
    .action(async (name, options) => ends(await (await commands()).showBackup(name, options, terminal)))
  connected(backup.command('verify'))
    .description('compare every file of a backup with its checksum')
    .argument('<name>', 'name of the backup')
    .option('--deep', 'also restore the collection separately and compare its digest')
    .action(async (name, options) => ends(await (await commands()).verifyBackup(name, options, terminal)))
  connected(backup.command('delete'))
    .description('delete a backup')
    .argument('<name>', 'name of the backup')
    .option('--at <url>', 'delete the backup at s3://BUCKET/PREFIX instead')
    .action(async (name, { at: address, ...options }) =>
      ends(
        await (address
          ? (await bucket()).deleteInBucket(name, address, options, terminal)
          : (await commands()).deleteBackup(name, options, terminal)),
      ),
    )
  connected(backup.command('push'))
    .description('push a backup to a bucket or other S3-compatible storage')
    .argument('<name>', 'name of the backup')
    .argument('<url>', 's3://BUCKET or s3://BUCKET/PREFIX; credentials come from the standard AWS_* variables')
    .option('--check', 'read the backup back and compare')
    .action(async (name, url, options) => ends(await (await bucket()).pushBackup(name, url, options, terminal)))
  connected(backup.command('pull'))
    .description('fetch a backup that push or a schedule stored in a bucket')
    .argument('<name>', 'name of the backup')
    .argument('<url>', 's3://BUCKET or s3://BUCKET/PREFIX')
    .option('--name <name>', 'new name of the backup (default: unchanged)')
    .action(async (name, url, { name: as, ...options }) =>
      ends(await (await bucket()).pullBackup(name, url, { ...options, as }, terminal)),
    )
  connected(backup.command('download'))
    .description('write a backup to a file')
    .argument('<name>', 'name of the backup')
    .option('-o, --output <file>', 'output file (default: NAME.annal-backup)')
    .action(async (name, options) => ends(await (await commands()).downloadBackup(name, options, terminal)))
  connected(backup.command('upload'))
    .description('upload a file that download wrote')
    .argument('<file>', 'file that download wrote')
    .option('--name <name>', 'backup name (default: the file name without its extension)')
    .action(async (file, options) => ends(await (await commands()).uploadBackup(file, options, terminal)))
}

function restoring(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('restore'))
    .description(
      'restore a backup to a new collection, or a data directory or its archive in a bucket to a new directory',
    )
    .argument(
      '<backup>',
      'backup name; with --whole the source data directory, which is only read; or the s3://BUCKET/PREFIX of NDD_ARCHIVE_S3',
    )
    .argument('<target>', 'name of the new collection; with --whole or s3:// the new directory')
    .addOption(new Option('--lsn <lsn>', 'restore the state as of this LSN').argParser(wholeNumber))
    .addOption(new Option('--time <time>', 'restore the state as of this time (RFC 3339)').conflicts('lsn'))
    .addOption(
      new Option('--keep-expired', 'the objects do not expire, including those that have expired since').conflicts(
        'whole',
      ),
    )
    .addOption(new Option('--whole', 'restore a whole data directory').conflicts(['lsn', 'time']))
    .addOption(new Option('--to-lsn <lsn>', 'with --whole or s3://: the state as of this LSN').argParser(wholeNumber))
    .addOption(new Option('--to-time <time>', 'with --whole or s3://: the state as of this time').conflicts(['toLsn']))
    .action(async (backup, target, options) => {
      if (backup.startsWith('s3://')) {
        const { restoreFromBucket } = await import('./commands/restore-archive.ts')
        ends(await restoreFromBucket(backup, target, options, terminal))
        return
      }
      if (options.whole || options.toLsn !== undefined || options.toTime !== undefined) {
        const { restoreWhole } = await import('./commands/restore-directory.ts')
        ends(await restoreWhole(backup, target, options, terminal))
        return
      }
      const { restore } = await import('./commands/backup.ts')
      ends(await restore(backup, target, options, terminal))
    })
}

function agents(program: Command, ends: Ends): void {
  connected(program.command('mcp').helpGroup('Serve:'))
    .description('provide search and read tools to an agent over standard input and output (Model Context Protocol)')
    .option('--allow-writes', 'also provide tools that store and delete')
    .action(async (options) => {
      const { serveMcp } = await import('./commands/mcp.ts')
      ends(await serveMcp(options))
    })
}
