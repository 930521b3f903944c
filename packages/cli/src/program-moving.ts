// The commands import, export and changes.
import { type Command, Option } from 'commander'
import { connected } from './connected.ts'
import { exportFormats, importFormats } from './formats/names.ts'
import { secretOf } from './secrets.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void

export function describeMoving(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup('Move data:')
  connected(program.command('import'))
    .description('import objects from a file or another database')
    .argument('<collection>', 'name or alias of the collection')
    .argument(
      '<source>',
      'a file (JSONL, JSON, CSV, TSV, Parquet, Arrow, HDF5, NPY, fvecs, bvecs), or qdrant://, chroma://, or postgres://',
    )
    .addOption(new Option('-f, --format <format>', 'file format (default: by extension)').choices(importFormats))
    .option('--field <name>', 'field for vectors without a name', 'dense')
    .option('--ids <file>', 'file with the ids for HDF5, NPY, fvecs, and bvecs, one per line (default: row numbers)')
    .option('--dataset <name>', 'matrix of an HDF5 file (default: train, or the only one)')
    .addOption(
      new Option('--column <name=use>', 'map a column to id, fields.FIELD, meta.KEY, or filter.KEY; repeatable')
        .default([], 'none')
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .addOption(
      new Option('--text <name:language>', 'a field of type text, with its language for --create; repeatable')
        .default([], 'none')
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .addOption(
      new Option(
        '--embed <name=provider:text>',
        'with --create: a field whose vectors the provider makes of a text field; repeatable',
      )
        .default([], 'none')
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .option(
      '--filter-keys <keys>',
      'Qdrant and Chroma: comma-separated keys to store as filter values (default: all that can be)',
    )
    .option(
      '--source-token-file <file>',
      'file with the token, API key or password of the source database (default: in ANNAL_SOURCE_TOKEN)',
    )
    .option('-y, --yes', 'accept the guessed columns of a CSV file without asking')
    .option('--create', 'create the collection with the fields of the source')
    .option('--space <type>', 'with --create: cosine, l2, or ip (default: that of the source, or cosine)')
    .option('--precision <precision>', 'with --create: binary, int2, int4, int8, int16, float16, or float32', 'int8')
    .addOption(
      new Option('--recall <target>', 'with --create: recall of searches that state none, 0.01 to 0.999').argParser(
        Number,
      ),
    )
    .addOption(
      new Option('--skip <count>', 'number of objects to skip, to continue an interrupted import')
        .default(0)
        .argParser(wholeNumber)
        .conflicts('resume'),
    )
    .option('--resume <file>', 'save progress to this file, and continue from it if it exists')
    .addOption(new Option('--batch <count>', 'objects per request').default(500).argParser(wholeNumber))
    .action(async (collection, source, { sourceTokenFile, ...options }) => {
      const { importInto } = await import('./commands/import.ts')
      const sourceToken = secretOf('--source-token-file', sourceTokenFile, 'ANNAL_SOURCE_TOKEN')
      ends(await importInto(collection, source, { ...options, sourceToken }, terminal))
    })
  connected(program.command('changes'))
    .description('follow the changes of a database')
    .addOption(new Option('--from <lsn>', 'first LSN (default: after the newest record)').argParser(wholeNumber))
    .option('--cursor <name>', 'continue at this cursor, and acknowledge what is printed')
    .option('--collection <names>', 'only these collections, separated by commas')
    .option('--kind <kinds>', 'only these kinds of changes, separated by commas')
    .option('--filter <conditions>', 'only objects that match this JSON filter')
    .option('--vectors', 'with --json: print the vectors too')
    .addOption(new Option('-n, --count <count>', 'end after this many changes').argParser(wholeNumber))
    .action(async (options) => {
      const { printChanges } = await import('./commands/changes.ts')
      ends(await printChanges(options, terminal))
    })
  connected(program.command('export'))
    .description('export a collection to a file that import can read')
    .argument('<collection>', 'name or alias of the collection')
    .option('-o, --output <file>', 'output file (default: standard output)')
    .addOption(
      new Option('-f, --format <format>', 'file format (default: by extension, or jsonl)').choices(exportFormats),
    )
    .option('--field <name>', 'field to export to npy, fvecs, and bvecs (default: the only dense field)')
    .option('--ids <file>', 'with npy, fvecs, and bvecs: write the ids to this file, one per line')
    .option('--filter <conditions>', 'export only objects that match this JSON filter')
    .option('--no-vectors', 'leave out the vectors and sparse terms')
    .option('--no-texts', 'leave out the texts')
    .option('--match <conditions>', 'export only objects whose texts match this JSON object, by text field')
    .action(async (collection, options) => {
      const { exportCollection } = await import('./commands/export.ts')
      ends(await exportCollection(collection, options, terminal))
    })
}
