// The options of every command that uses a server or a closed data directory.
import { type Command, Option } from 'commander'
import { withTokenFile } from './secrets.ts'
import { sessionNow } from './session.ts'

/** The connection options of every such command. The commands of a shell have the connection of the shell. */
export function connected(command: Command, { json = true }: { readonly json?: boolean } = {}): Command {
  if (sessionNow() === undefined) {
    withTokenFile(served(command))
      .addOption(new Option('-d, --data-dir <dir>', 'use a data directory that no server has open instead of a server'))
      .addOption(new Option('--database <name>', 'with --data-dir: the database to use').default('default'))
  }
  return !json ? command : command.option('--json', 'print one JSON document instead of text')
}

/** The URL of a server. */
export function served(command: Command): Command {
  return command.addOption(
    new Option('-s, --server <url>', 'URL of a running server').env('NDD_SERVER_URL').default('http://127.0.0.1:8080'),
  )
}
