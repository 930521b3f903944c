// `annal dashboard`: the dashboard in its own process.
import { usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

export interface DashboardCommandOptions {
  readonly server: string
  readonly port: number
  readonly host: string
}

/** Resolves when the dashboard is ready; then a signal ends the process. */
export async function serveDashboard(options: DashboardCommandOptions, terminal: Terminal): Promise<void> {
  const server = URL.parse(options.server)
  if (server === null || !['http:', 'https:'].includes(server.protocol)) {
    throw usageError(`--server ${options.server} is not a URL such as http://localhost:8080`)
  }
  const { startDashboard } = await import('@annal/server')
  const dashboard = await startDashboard({ host: options.host, port: options.port, serverUrl: server.origin })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void dashboard.stop().then(() => process.exit(0)))
  }
  terminal.line(`The dashboard serves ${dashboard.address} for the server at ${server.origin} (press Ctrl-C to stop)`)
}
