// The commands on the past of collections, on the names that lead to them, and on cursors of the change feed.
import { type Command, Option } from 'commander'
import { connected } from './connected.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void

export function describeTime(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup('Look into the past, and name collections:')
  history(program, terminal, ends)
  undoing(program, terminal, ends)
  aliases(program, terminal, ends)
  branches(program, terminal, ends)
  cursors(program, terminal, ends)
}

function history(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('history'))
    .description('list the versions of an object: when and by whom it was written, and what changed')
    .argument('<collection>', 'name or alias of the collection')
    .argument('<id>', 'id of the object')
    .addOption(new Option('--from <lsn>', 'first LSN').argParser(wholeNumber))
    .addOption(new Option('--to <lsn>', 'last LSN').argParser(wholeNumber))
    .action(async (collection, id, options) => {
      const { printHistory } = await import('./commands/history.ts')
      ends(await printHistory(collection, id, options, terminal))
    })
  connected(program.command('diff'))
    .description('list the objects that differ between two moments: + added, ~ changed, - removed')
    .argument('<collection>', 'name or alias of the collection')
    .requiredOption('--from <moment>', 'first moment: an LSN, or a time (RFC 3339)')
    .option('--to <moment>', 'second moment (default: now)')
    .action(async (collection, options) => {
      const { printDiff } = await import('./commands/diff.ts')
      ends(await printDiff(collection, options, terminal))
    })
}

function undoing(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('undo'))
    .description('restore the content that objects had at a moment; delete those that did not exist then')
    .argument('<collection>', 'name or alias of the collection')
    .requiredOption('--as-of <moment>', 'the moment: an LSN, or a time (RFC 3339)')
    .addOption(new Option('--ids <ids>', 'these objects, separated by commas').conflicts('filter'))
    .option('--filter <conditions>', 'the objects that match this JSON filter now, and those that matched it then')
    .option('--keep-expired', 'the objects do not expire, including those that have expired since')
    .option('--dry-run', 'only count the objects')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (collection, options) => {
      const { undo } = await import('./commands/undo.ts')
      ends(await undo(collection, options, terminal))
    })
}

function aliases(program: Command, terminal: Terminal, ends: Ends): void {
  const alias = program.command('alias').description('list, create, switch, and delete aliases of collections')
  const commands = () => import('./commands/names.ts')
  connected(alias.command('list'))
    .description('list all aliases')
    .action(async (options) => ends(await (await commands()).listAliases(options, terminal)))
  connected(alias.command('put'))
    .description('create an alias, or switch it to another collection')
    .argument('<alias>', 'name of the alias')
    .argument('<collection>', 'name or alias of the collection')
    .action(async (name, collection, options) =>
      ends(await (await commands()).putAlias(name, collection, options, terminal)),
    )
  connected(alias.command('delete'))
    .description('delete an alias; its collection stays')
    .argument('<alias>', 'name of the alias')
    .action(async (name, options) => ends(await (await commands()).deleteAlias(name, options, terminal)))
}

function branches(program: Command, terminal: Terminal, ends: Ends): void {
  const commands = () => import('./commands/names.ts')
  connected(program.command('branch'))
    .description('create a collection with the content of another one')
    .argument('<collection>', 'name or alias of the collection')
    .argument('<new>', 'name of the branch')
    .option('--as-of <moment>', 'the content as of an LSN, or a time (RFC 3339) (default: now)')
    .option('--keep-expired', 'the objects of the branch do not expire, including those that have expired since')
    .action(async (collection, target, options) =>
      ends(await (await commands()).branch(collection, target, options, terminal)),
    )
  connected(program.command('branches'))
    .description('show a collection and all that have a common ancestor with it, as a tree')
    .argument('<collection>', 'name or alias of the collection')
    .action(async (collection, options) => ends(await (await commands()).listBranches(collection, options, terminal)))
  connected(program.command('promote'))
    .description('give a collection the name and the aliases of another one, which is kept under another name')
    .argument('<collection>', 'name or alias of the collection')
    .requiredOption('--over <collection>', 'the collection that gives up its name')
    .requiredOption('--keep-as <name>', 'its new name')
    .action(async (collection, options) => ends(await (await commands()).promote(collection, options, terminal)))
}

function cursors(program: Command, terminal: Terminal, ends: Ends): void {
  const parent = program.command('cursors').description('list and delete cursors of the change feed')
  const commands = () => import('./commands/cursors.ts')
  connected(parent.command('list'))
    .description('list all cursors')
    .action(async (options) => ends(await (await commands()).listCursors(options, terminal)))
  connected(parent.command('delete'))
    .description('delete a cursor, the position of a consumer')
    .argument('<cursor>')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (name, options) => ends(await (await commands()).deleteCursor(name, options, terminal)))
}
