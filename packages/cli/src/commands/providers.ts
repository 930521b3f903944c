// `annal providers`: what makes vectors of texts on a server.
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export function listProviders(
  options: ConnectionOptions & { readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  return withClient(options, async (client) => {
    const providers = await client.providers()
    if (options.json) terminal.line(JSON.stringify({ providers }))
    else if (providers.length > 0) {
      const rows = providers.map(({ name, kind, model, dimension }) => [
        name,
        kind,
        model ?? '-',
        `${dimension ?? '-'}`,
      ])
      for (const line of aligned([['provider', 'kind', 'model', 'dimension'], ...rows])) terminal.line(line)
    }
    return exitCode.good
  })
}
