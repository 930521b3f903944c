// The commands that ask a server, or a closed data directory, about what is in it.
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
  agents(program, ends)
}

function backups(program: Command, terminal: Terminal, ends: Ends): void {
  const backup = program.command('backup').description('make, list, check, move and delete backups of collections')
  const commands = () => import('./commands/backup.ts')
  const bucket = () => import('./commands/bucket.ts')
  connected(backup.command('create'))
    .description('back up a collection, and wait until that is done')
    .argument('<collection>')
    .argument('[name]', 'made of the collection and the time when not given')
    .option('--to <url>', 'carry it to s3://BUCKET/PREFIX as well')
    .action(async (collection, name, options) =>
      ends(await (await commands()).createBackup(collection, name, options, terminal)),
    )
  connected(backup.command('list'))
    .description('list all backups')
    .option('--at <url>', 'those at s3://BUCKET/PREFIX instead')
    .action(async ({ at, ...options }) =>
      ends(
        await (at
          ? (await bucket()).listBucket(at, options, terminal)
          : (await commands()).listBackups(options, terminal)),
      ),
    )
  connected(backup.command('info'))
    .description('describe a backup')
    .argument('<name>')
    .action(async (name, options) => ends(await (await commands()).showBackup(name, options, terminal)))
  connected(backup.command('verify'))
    .description('compare every file of a backup with its checksum')
    .argument('<name>')
    .option('--deep', 'also build the collection aside and compare its digest')
    .action(async (name, options) => ends(await (await commands()).verifyBackup(name, options, terminal)))
  connected(backup.command('delete'))
    .description('delete a backup')
    .argument('<name>')
    .option('--at <url>', 'the one at s3://BUCKET/PREFIX instead')
    .action(async (name, { at, ...options }) =>
      ends(
        await (at
          ? (await bucket()).deleteInBucket(name, at, options, terminal)
          : (await commands()).deleteBackup(name, options, terminal)),
      ),
    )
  connected(backup.command('push'))
    .description('carry a backup to a bucket, or to whatever else speaks S3')
    .argument('<name>')
    .argument('<url>', 's3://BUCKET or s3://BUCKET/PREFIX; variables beginning with AWS_ say how to come in')
    .option('--check', 'read it back and compare')
    .action(async (name, url, options) => ends(await (await bucket()).pushBackup(name, url, options, terminal)))
  connected(backup.command('pull'))
    .description('fetch a backup that push, or a schedule, carried away')
    .argument('<name>')
    .argument('<url>', 's3://BUCKET or s3://BUCKET/PREFIX')
    .option('--name <name>', 'what it is called here; default: the same')
    .action(async (name, url, { name: as, ...options }) =>
      ends(await (await bucket()).pullBackup(name, url, { ...options, as }, terminal)),
    )
  connected(backup.command('download'))
    .description('write a backup to a file, to be kept elsewhere')
    .argument('<name>')
    .option('-o, --output <file>', 'default: NAME.annal-backup')
    .action(async (name, options) => ends(await (await commands()).downloadBackup(name, options, terminal)))
  connected(backup.command('upload'))
    .description('take a file that download wrote')
    .argument('<file>')
    .option('--name <name>', 'default: the name of the file without its ending')
    .action(async (file, options) => ends(await (await commands()).uploadBackup(file, options, terminal)))
}

function restoring(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('restore'))
    .description('make a new collection of a backup, or with --whole a new data directory of another one')
    .argument('<backup>', 'name of a backup; with --whole a data directory, which is only read')
    .argument('<target>', 'a name that no collection has; with --whole a directory that does not exist')
    .addOption(new Option('--lsn <lsn>', 'as of this event').argParser(wholeNumber))
    .addOption(new Option('--time <time>', 'as of this time, RFC 3339').conflicts('lsn'))
    .addOption(new Option('--whole', 'a whole data directory').conflicts(['lsn', 'time']))
    .addOption(new Option('--to-lsn <lsn>', 'a whole directory as of this event').argParser(wholeNumber))
    .addOption(new Option('--to-time <time>', 'a whole directory as of this time').conflicts(['toLsn']))
    .action(async (backup, target, options) => {
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
  connected(program.command('mcp'))
    .description('give an agent tools to search and read, over standard input and output (Model Context Protocol)')
    .option('--allow-writes', 'also tools that store and delete')
    .action(async (options) => {
      const { serveMcp } = await import('./commands/mcp.ts')
      ends(await serveMcp(options))
    })
}
