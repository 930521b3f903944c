// The real server as a child process: started, waited for, killed, stopped.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, connect } from '@annal/client'

export interface ServerProcess {
  readonly client: Client
  readonly pid: number
  /** Waits until health says ok; fails when the server ends instead. */
  ready(timeoutMs: number): Promise<void>
  /** SIGKILL: nothing of the process runs any more when this resolves. */
  kill(): Promise<void>
  /** SIGTERM; resolves to the exit code once the server has ended by itself. */
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
  // One attempt per call: who asks has to see the server being away.
  const client = connect({ url: `http://127.0.0.1:${port}`, retriesMax: 0, timeoutMs: 120_000 })

  async function ready(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs
    for (let status = await statusOf(client); status !== 'ok'; status = await statusOf(client)) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended:\n${output()}`)
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

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // listen on a TCP port gives an AddressInfo; a string is for pipes only.
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** What health says, or why nobody said anything. */
async function statusOf(client: Client): Promise<string> {
  return client.health({ timeoutMs: 5_000 }).then(
    ({ status, details }) => (status === 'ok' ? status : `${status} ${JSON.stringify(details)}`),
    (error: unknown) => String(error),
  )
}

/** What the server last said, for the case that something goes wrong. */
function lastOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4_000)
    })
  }
  return () => text
}
