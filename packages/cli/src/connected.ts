// The options of every command that asks a server, or a closed data directory.
import { type Command, Option } from 'commander'

/** Where the data is: asked of every such command. */
export function connected(command: Command): Command {
  return command
    .addOption(
      new Option('-s, --server <url>', 'a running server').env('NDD_SERVER_URL').default('http://127.0.0.1:8080'),
    )
    .addOption(new Option('--token <token>', 'token of the database, or of the server').env('ANNAL_TOKEN'))
    .addOption(new Option('-d, --data-dir <dir>', 'a data directory that no server has open, instead of a server'))
    .addOption(new Option('--database <name>', 'with --data-dir: which database of it').default('default'))
    .option('--json', 'print one JSON document instead of text')
}
