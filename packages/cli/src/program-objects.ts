// The commands that read and write collections and their objects.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { connected } from './connected.ts'
import { fieldOption, keysOf } from './field-options.ts'
import { QueryOptions } from './query-options.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

type Ends = (code: number) => void
type FieldDefinition = ReturnType<typeof fieldOption>

export function describeObjects(program: Command, terminal: Terminal, ends: Ends): void {
  program.commandsGroup('Read and write data:')
  collections(program, terminal, ends)
  creating(program, terminal, ends)
  storing(program, terminal, ends)
  searching(program, terminal, ends)
  reading(program, terminal, ends)
  removing(program, terminal, ends)
}

/** An id may begin with a dash, as an option does. */
const idsHelp = 'ids of objects; put -- before one that begins with a dash'

function collections(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('ls'))
    .description('list the collections: objects, memory, fields')
    .action(async (options) => {
      const { listCollections } = await import('./commands/ls.ts')
      ends(await listCollections(options, terminal))
    })
  connected(program.command('describe'))
    .description('describe a collection: fields with their settings, counts, memory')
    .argument('<collection>', 'name or alias of the collection')
    .action(async (collection, options) => {
      const { describeCollection } = await import('./commands/ls.ts')
      ends(await describeCollection(collection, options, terminal))
    })
}

function creating(program: Command, terminal: Terminal, ends: Ends): void {
  const fields: FieldDefinition[] = []
  const field = (type: FieldDefinition['type'], flags: string, description: string) =>
    new Option(flags, `${description}; also KEY=VALUE of ${keysOf(type)}; repeatable`).argParser((text: string) => {
      fields.push(fieldOption(type, text))
      return text
    })
  connected(program.command('create'))
    .description('create a collection')
    .argument('<collection>', 'name of the new collection')
    .addOption(field('vector', '--vector <name=dimension>', 'a field with one vector for each object'))
    .addOption(field('text', '--text <name[=language]>', 'a text field, whose texts are found by their words'))
    .addOption(field('sparse', '--sparse <name[=model]>', 'a field of sparse terms'))
    .addOption(field('multi_vector', '--multi-vector <name=dimension>', 'a field with several vectors for each object'))
    .option(
      '-f, --file <file>',
      'a definition as JSON instead, such as the output of describe --json; - is standard input',
    )
    .addOption(
      new Option('--ttl <seconds>', 'objects expire this many seconds after they are written').argParser(wholeNumber),
    )
    .addHelpText(
      'after',
      `
Examples:
  annal create films --vector plot=384
  annal create films --vector plot=384,space=l2,precision=float32 --text title=english
  annal create notes --text body=english --vector meaning=768,embed=local:body`,
    )
    .action(async (collection, { file, ttl, ...connection }) => {
      const { createCollection } = await import('./commands/create.ts')
      ends(await createCollection(collection, { ...connection, file, ttl, fields }, terminal))
    })
}

function storing(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('upsert'))
    .description('store objects given as JSON; an object with an existing id is replaced')
    .argument('<collection>', 'name or alias of the collection')
    .argument('[file]', 'objects as JSON: a list, or one after another; - is standard input; or the JSON itself', '-')
    .addOption(new Option('--batch <count>', 'objects per request').default(500).argParser(wholeNumber))
    .addHelpText(
      'after',
      `
Example:
  annal upsert films '{"id":"alien","meta":{"title":"Alien"},"filter":{"year":1979},"fields":{"plot":[0.9,0.1]}}'`,
    )
    .action(async (collection, file, options) => {
      const { upsertObjects } = await import('./commands/upsert.ts')
      ends(await upsertObjects(collection, file, options, terminal))
    })
}

function searching(program: Command, terminal: Terminal, ends: Ends): void {
  const queries = new QueryOptions()
  connected(program.command('search'))
    .description('find the nearest objects by a vector, a stored object, or words')
    .argument('<collection>', 'name or alias of the collection')
    .addOption(
      new Option(
        '--field <name>',
        'field to search (default: the only one that fits); repeat it to search several',
      ).argParser(queries.field),
    )
    .addOption(
      new Option(
        '--vector <json>',
        'a vector, several vectors, or sparse terms; @FILE reads a file, - standard input',
      ).argParser(queries.vector),
    )
    .addOption(new Option('--id <id>', 'search near the stored object with this id').argParser(queries.id))
    .addOption(
      new Option(
        '--text <words>',
        'words for a text field, or a text for a field whose vectors are made of texts',
      ).argParser(queries.words),
    )
    .option('--request <json>', 'a whole search request as JSON, or a file with one, instead of the options above')
    .addOption(new Option('-n, --limit <count>', 'number of results (default: 10)').argParser(wholeNumber))
    .option('--filter <conditions>', 'only objects that match this JSON filter')
    .addOption(
      new Option('--ef <number>', 'candidates that the graph walk keeps (default: 128)').argParser(wholeNumber),
    )
    .addOption(new Option('--recall <target>', 'recall to reach instead, 0.01 to 0.999').argParser(decimal))
    .option('--exact', 'compare every object')
    .option('--rescore', 'reorder the best candidates by their original vectors')
    .option('--no-rescore', 'do not reorder them')
    .option('--vectors', 'with --json: include the vectors')
    .option('--texts', 'with --json: include the texts of the objects')
    .option('--group-by <key>', 'return the best groups of objects with the same value of this filter key')
    .addOption(new Option('--group-hits <count>', 'results of each group (default: 1)').argParser(wholeNumber))
    .option('--columns <keys>', 'keys of meta or filter values to show, separated by commas (default: all)')
    .addHelpText(
      'after',
      `
Examples:
  annal search films --vector '[0.9,0.1]' --limit 5 --columns title,year
  annal search films --field plot --id alien --filter '[{"year":{"$gte":1970}}]'
  annal search films --field plot --vector '[0.9,0.1]' --field title --text 'space ship'`,
    )
    .action(async (collection, { field: _field, vector: _vector, id: _id, text: _text, ...options }, command) => {
      const { search } = await import('./commands/search.ts')
      // Commander takes the default of --no-rescore for a choice.
      const rescore = command.getOptionValueSource('rescore') === 'cli' ? options.rescore : undefined
      ends(await search(collection, { ...options, rescore, queries: queries.all }, terminal))
    })
}

function reading(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('get'))
    .description('show objects by id; with --json one object in each line, as upsert and import read it')
    .argument('<collection>', 'name or alias of the collection')
    .argument('<ids...>', idsHelp)
    .option('--no-vectors', 'leave out the vectors and sparse terms')
    .option('--no-texts', 'leave out the texts')
    .action(async (collection, ids, options) => {
      const { printObjects } = await import('./commands/get.ts')
      ends(await printObjects(collection, ids, options, terminal))
    })
  connected(program.command('count'))
    .description('count the objects of a collection')
    .argument('<collection>', 'name or alias of the collection')
    .option('--filter <conditions>', 'only objects that match this JSON filter')
    .action(async (collection, options) => {
      const { countObjects } = await import('./commands/get.ts')
      ends(await countObjects(collection, options, terminal))
    })
}

function removing(program: Command, terminal: Terminal, ends: Ends): void {
  connected(program.command('rm'))
    .description('delete objects by id or filter, or a whole collection')
    .argument('<collection>', 'name or alias of the collection')
    .argument('[ids...]', `${idsHelp}; without ids and --where, the collection itself`)
    .option('--where <conditions>', 'delete the objects that match this JSON filter')
    .option('--dry-run', 'only count the objects')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (collection, ids, options) => {
      const { remove } = await import('./commands/rm.ts')
      ends(await remove(collection, ids, options, terminal))
    })
}

function decimal(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(value)) return value
  throw new InvalidArgumentError('It must be a number.')
}
