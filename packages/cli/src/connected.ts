// The options of every command that uses a server or a closed data directory.
import { type Command, Option } from 'commander'

/** The connection options of every such command. */
export function connected(command: Command): Command {
  return command
    .addOption(
      new Option('-s, --server <url>', 'URL of a running server')
        .env('NDD_SERVER_URL')
        .default('http://127.0.0.1:8080'),
    )
    .addOption(new Option('--token <token>', 'database token or server token').env('ANNAL_TOKEN'))
    .addOption(new Option('-d, --data-dir <dir>', 'use a data directory that no server has open instead of a server'))
    .addOption(new Option('--database <name>', 'with --data-dir: the database to use').default('default'))
    .option('--json', 'print one JSON document instead of text')
}
