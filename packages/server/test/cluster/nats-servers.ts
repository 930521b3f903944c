// Real NATS servers with JetStream, as processes of a test: one alone, or several that replicate. Each message is synced
// before it is acknowledged, as a cluster needs it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { eventually } from '../eventually.ts'
import { freePort } from '../free-port.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const program = [process.env.ANNAL_NATS_SERVER, path.join(root, '.tools/nats-server')].find(
  (file) => file !== undefined && existsSync(file),
)

/** Why tests that need NATS are skipped; false when they run. */
export const skipNats = reasonToSkip()

function reasonToSkip(): string | false {
  const [, minor = ''] =
    /NATS_VERSION=(\d+\.\d+)\./.exec(readFileSync(path.join(root, 'docker/cluster/.env'), 'utf8')) ?? []
  if (program === undefined) return `needs nats-server ${minor}: scripts/nats-server.sh gets it`
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
  return version.includes(`v${minor}.`) ? false : `needs nats-server ${minor}, this is ${version}`
}

/** One server of a test. */
export interface NatsServer {
  readonly url: string
  readonly directory: string
  /** Starts it again, with the messages that it has. */
  start(): void
  /** Sends a signal; resolves at once. */
  signal(signal: NodeJS.Signals): void
  /** Kills it, and resolves when it is gone. */
  kill(): Promise<void>
}

/** Several servers of a test, that replicate if there is more than one. */
export interface NatsServers {
  readonly servers: readonly NatsServer[]
  /** A connection of its own, closed with the test. */
  connect(name: string): Promise<NatsConnection>
}

/** How servers are started. */
export interface NatsServersOptions {
  /** Opens the only way from one server to the port of another, and resolves to the port to connect to. */
  readonly via?: (from: number, to: number, port: number) => Promise<number>
  /** The directories of the servers. By default they are removed with the test. */
  readonly homes?: readonly string[]
}

/** Starts servers that end with the test, and waits until JetStream answers. */
export async function startNatsServers(
  t: Test,
  count: number,
  { via, homes = [] }: NatsServersOptions = {},
): Promise<NatsServers> {
  const directory = await mkdtemp(path.join(tmpdir(), 'annal-nats-'))
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const ports = await Promise.all(Array.from({ length: count * 2 }, freePort))
  const routePorts = ports.slice(count)
  const servers = await Promise.all(
    routePorts.map(async (own, index) => {
      const home = homes[index] ?? path.join(directory, `n${index}`)
      await mkdir(home, { recursive: true })
      const others = routePorts.flatMap((port, to) => (to === index ? [] : [via?.(index, to, port) ?? port]))
      const routes = (await Promise.all(others)).map((port) => `"nats://127.0.0.1:${port}"`).join(', ')
      // A server that hears of another address connects to it directly, so with `via` they announce one that does not answer.
      const advertise = via === undefined ? '' : ', advertise: "127.0.0.1:1"'
      const cluster = `cluster { name: test, listen: "127.0.0.1:${own}", routes: [${routes}]${advertise} }`
      await writeFile(
        path.join(home, 'nats.conf'),
        `server_name: n${index}
listen: "127.0.0.1:${ports[index]}"
jetstream { store_dir: "${home}", sync_interval: always, max_memory_store: 64MB, max_file_store: 4GB }
${count > 1 ? cluster : ''}
`,
      )
      return natsServer(t, home, `nats://127.0.0.1:${ports[index]}`)
    }),
  )
  for (const server of servers) server.start()
  const urls = servers.map(({ url }) => url)
  const found: NatsServers = {
    servers,
    async connect(name) {
      const connection = await eventually(() =>
        connect({ servers: urls, name, maxReconnectAttempts: -1, reconnectTimeWait: 100 }).catch(() => undefined),
      )
      t.teardown(() => connection.close())
      return connection
    },
  }
  const connection = await found.connect('waits for JetStream')
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: 1000 })
  // JetStream answers before every server has joined, and places no streams with as many replicas until then.
  const probe = { name: 'probe', subjects: ['probe'], num_replicas: count }
  await eventually(() => manager.streams.add(probe).catch(() => undefined))
  await manager.streams.delete(probe.name)
  return found
}

/** Starts one server with these settings, and waits for nothing. Its settings can be changed for the next start. */
export async function startNatsServer(
  t: Test,
  settings: string,
): Promise<NatsServer & { configure(settings: string): Promise<void> }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'annal-nats-'))
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const listen = `127.0.0.1:${await freePort()}`
  const configure = (text: string) =>
    writeFile(path.join(directory, 'nats.conf'), `server_name: n0\nlisten: "${listen}"\n${text}\n`)
  await configure(settings)
  const server = natsServer(t, directory, `nats://${listen}`)
  server.start()
  return { ...server, configure }
}

function natsServer(t: Test, directory: string, url: string): NatsServer {
  let child: ChildProcess | undefined
  let gone: Promise<void> = Promise.resolve()
  const kill = async () => {
    child?.kill('SIGKILL')
    await gone
  }
  t.teardown(kill)
  return {
    url,
    directory,
    start() {
      const started = spawn(
        program ?? '',
        ['-c', path.join(directory, 'nats.conf'), '-l', path.join(directory, 'nats.log')],
        { stdio: 'ignore' },
      )
      gone = new Promise((resolve) => started.once('exit', () => resolve()))
      child = started
    },
    signal: (signal) => void child?.kill(signal),
    kill,
  }
}
