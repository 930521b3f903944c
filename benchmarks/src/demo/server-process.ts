// The real server as a child process: starts it, waits for it, kills it, stops it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, connect } from '@annal/client'

export interface ServerProcess {
  readonly client: Client
  readonly pid: number
  /** Resolves when health reports ok; rejects if the server exits. */
  ready(timeoutMs: number): Promise<void>
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>
  /** Sends SIGTERM; resolves to the exit code when the server has exited. */
  stop(): Promise<number | null>
}

export interface ServerOptions {
  readonly dataDir: string
  readonly port: number
}

export function startServer({ dataDir, port }: ServerOptions): ServerProcess {
  const main = fileURLToPath(import.meta.resolve('@annal/server/main'))
  const child = spawn(process.execPath, [...process.execArgv, main], {
    env: { ...process.env, NDD_SERVER_PORT: String(port), NDD_HOST: '127.0.0.1', NDD_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = lastOutput(child)
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  const ended = once(child, 'exit').then(([code]: (number | null)[]) => {
    process.off('exit', killWithParent)
    return code ?? null
  })
  // No retries: the caller must see that the server is unreachable.
  const client = connect({ url: `http://127.0.0.1:${port}`, retriesMax: 0, timeoutMs: 120_000 })

  async function ready(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs
    for (let status = await statusOf(client); status !== 'ok'; status = await statusOf(client)) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server exited:\n${output()}`)
      if (performance.now() > untilMs) throw new Error(`after ${timeoutMs} ms the server is ${status}:\n${output()}`)
      await sleep(10)
    }
  }

  return {
    client,
    pid: child.pid ?? 0,
    ready,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** The status that health reports, or the error. */
async function statusOf(client: Client): Promise<string> {
  return client.health({ timeoutMs: 5_000 }).then(
    ({ status, details }) => (status === 'ok' ? status : `${status} ${JSON.stringify(details)}`),
    (error: unknown) => String(error),
  )
}

/** The last output of the server, for error messages. */
function lastOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4_000)
    })
  }
  return () => text
}
