// The commands that carry objects in and out: import and export.
import { type Command, Option } from 'commander'
import { connected } from './connected.ts'
import { exportFormats, importFormats } from './formats/names.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void

export function describeMoving(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('import'))
    .description('store what a file or another database holds')
    .argument('<collection>')
    .argument(
      '<source>',
      'a file (JSONL, CSV, TSV, Parquet, NPY, fvecs, bvecs), or qdrant://, chroma:// or postgres://',
    )
    .addOption(new Option('-f, --format <format>', 'default: by the ending').choices(importFormats))
    .option('--field <name>', 'which field vectors without a name are for', 'dense')
    .option('--ids <file>', 'the ids of NPY, fvecs and bvecs, one a line; default: row numbers')
    .addOption(
      new Option('--column <name=use>', 'what a column is read as: id, fields.FIELD, meta.KEY, filter.KEY; repeatable')
        .default([])
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .option(
      '--filter-keys <keys>',
      'of Qdrant and Chroma: which keys, by commas, become filter values; default: all that can',
    )
    .addOption(new Option('--source-token <token>', 'what opens the database that is read').env('ANNAL_SOURCE_TOKEN'))
    .option('--create', 'make the collection, with the fields of the source')
    .option('--space <type>', 'with --create: cosine, l2 or ip; default: as the source says, or cosine')
    .option('--precision <precision>', 'with --create: binary, int8, int16, float16 or float32', 'int8')
    .addOption(
      new Option('--skip <count>', 'objects to pass over, to go on where an import ended')
        .default(0)
        .argParser(wholeNumber)
        .conflicts('resume'),
    )
    .option('--resume <file>', 'remember there how far the import is, and go on from there when the file exists')
    .addOption(new Option('--batch <count>', 'objects of one call').default(500).argParser(wholeNumber))
    .action(async (collection, source, options) => {
      const { importInto } = await import('./commands/import.ts')
      ends(await importInto(collection, source, options, terminal))
    })
  connected(program.command('export'))
    .description('write a collection to a file, which import takes')
    .argument('<collection>')
    .option('-o, --output <file>', 'default: standard output')
    .addOption(new Option('-f, --format <format>', 'default: by the ending, or jsonl').choices(exportFormats))
    .option('--field <name>', 'which field npy, fvecs and bvecs hold; default: the only dense one')
    .option('--ids <file>', 'with npy, fvecs and bvecs: write the ids there, one a line')
    .option('--filter <conditions>', 'only what matches, as JSON')
    .action(async (collection, options) => {
      const { exportCollection } = await import('./commands/export.ts')
      ends(await exportCollection(collection, options, terminal))
    })
}
