// `annal cluster init` and `annal cluster leave`: a data directory becomes the first node of a cluster, and that of a node a single server.
import path from 'node:path'
import { EngineError } from '@annal/engine'
import { readConfig } from '@annal/server'
import { exitOf, initCluster, leaveCluster, logBeforeCluster, type MovedDirectory } from '@annal/server/cluster'
import { refusal } from '../connection.ts'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

interface Output {
  readonly json?: boolean
}

export async function clusterInit(
  { from, json }: Output & { readonly from: string },
  terminal: Terminal,
): Promise<number> {
  const moved = await ending(async () => {
    const { cluster } = readConfig(process.env).config
    if (cluster === undefined) throw usageError('set NDD_CLUSTER_URL, and the other settings of the node')
    return initCluster(cluster, path.resolve(from))
  })
  const next = `${path.resolve(from)} is the first node of the cluster, as of LSN ${moved.lsn}. Start it with the same settings.`
  return print(
    moved,
    [next, `The log of the single server is in ${logBeforeCluster}. Remove it when the cluster works.`],
    { json },
    terminal,
  )
}

export async function clusterLeave(dir: string, { json }: Output, terminal: Terminal): Promise<number> {
  const moved = await ending(() => leaveCluster(path.resolve(dir)))
  const next = `${path.resolve(dir)} is the directory of a single server, as of LSN ${moved.lsn}. Start it without NDD_CLUSTER_URL.`
  return print(moved, [next], { json }, terminal)
}

function print(
  moved: MovedDirectory,
  lines: readonly string[],
  { json }: { readonly json: boolean | undefined },
  terminal: Terminal,
): number {
  if (json) terminal.line(JSON.stringify(moved))
  else for (const line of [...lines, `digest: ${moved.digest}`]) terminal.line(line)
  return exitCode.good
}

async function ending<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof CommandEnd) throw error
    if (error instanceof Error && error.name === 'StoreUnavailable')
      throw new CommandEnd(exitCode.unavailable, error.message)
    if (error instanceof EngineError) throw refusal(error)
    const { code, lines } = exitOf(error)
    throw new CommandEnd(code, lines.join('\n'))
  }
}
