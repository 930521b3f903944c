// Servers as an operator runs them, and what goes wrong on each: the condition of every alert is brought about, none is pretended.
import { execFileSync } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '@annal/wal/testing'
import type { Test } from 'tap'
import type { ThreadedServer } from '../../packages/server/src/serving/threaded-server.ts'
import { startNatsServer } from '../../packages/server/test/cluster/nats-servers.ts'
import { ObjectServer } from '../../packages/server/test/cluster/object-server.ts'
import { eventually } from '../../packages/server/test/eventually.ts'
import { freePort } from '../../packages/server/test/free-port.ts'
import { dayMs, issued, layLicense, vendor } from '../../packages/server/test/licenses.ts'
import { makeMemoryCgroup } from '../../packages/server/test/memory-cgroup.ts'
import { runningApp, type SendOptions, send } from '../../packages/server/test/running-app.ts'
import { type RunningProcess, startProcess } from '../../packages/server/test/running-process.ts'
import type { Target } from './prometheus.ts'
import { tracedBy } from './traced-by.ts'

/** Something that goes wrong on a server. */
export interface Trouble {
  readonly targets: readonly Target[]
  /** Alerts that it must lead to, by `job alertname`. */
  readonly alerts: readonly string[]
  /** Brings it about, and continues as long as `isOver` is false. */
  provoke(seen: Seen): Promise<void>
}

/** What Prometheus has seen of the servers of a trouble. */
export interface Seen {
  /** Waits until alerts have fired, by `alertname`. */
  hasFired(...alerts: readonly string[]): Promise<void>
  /** Waits until an expression has samples. */
  shows(expression: string): Promise<void>
}

/** A server with a port that stays when it is started again. */
export class Member {
  readonly url: string
  readonly target: Target
  readonly #t: Test
  readonly #settings: Readonly<Record<string, string>>
  readonly #through: readonly string[]
  #running: RunningProcess | undefined

  private constructor(t: Test, target: Target, settings: Readonly<Record<string, string>>, through: readonly string[]) {
    this.#t = t
    this.#settings = settings
    this.#through = through
    this.target = target
    this.url = `${target.scheme ?? 'http'}://${target.address}`
  }

  static async create(
    t: Test,
    job: string,
    { through = [], token, scheme, ...settings }: MemberSettings,
  ): Promise<Member> {
    const port = await freePort()
    const target = { job, address: `127.0.0.1:${port}`, ...(token && { token }), ...(scheme && { scheme }) }
    return new Member(t, target, { ...settings, NDD_SERVER_PORT: `${port}` }, through)
  }

  async start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    this.launch(more)
    await this.#running?.serving
  }

  /** Does not wait until it serves. */
  launch(more: Readonly<Record<string, string>> = {}): void {
    const running = startProcess({ ...this.#settings, ...more }, undefined, this.#through)
    this.#t.teardown(() => this.end('SIGKILL'))
    this.#running = running
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const { child, ended } = this.#running ?? {}
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    for (const pid of this.#through.includes('strace') ? tracedBy(child) : []) process.kill(pid, signal)
    child.kill(signal)
    await ended
  }

  send(method: string, route: string, options: SendOptions = {}) {
    const { token } = this.target
    const headers = { ...(token && { authorization: token }), ...options.headers }
    return send(this.url, method, route, { accept: 'application/json', ...options, headers })
  }

  /** Throws unless the reply is a success. */
  async must(method: string, route: string, json?: unknown): Promise<void> {
    const reply = await eventually(async () => {
      const answer = await this.send(method, route, json === undefined ? {} : { json })
      // A node does not lead now and then, and may not know whether its record is in the log. These writes may be repeated.
      return /"(not_leader|outcome_unknown)"/.test(answer.text) ? undefined : answer
    })
    if (reply.status >= 300) throw new Error(`${method} ${route}: ${reply.status} ${reply.text}`)
  }

  async createDocs(): Promise<void> {
    const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
    await this.must('POST', '/api/v2/collection', { name: 'docs', fields })
    await this.store(['a'])
  }

  async store(ids: readonly string[]): Promise<void> {
    const objects = ids.map((id) => ({ id, fields: { v: [id.length, 1] } }))
    await this.must('POST', '/api/v2/collection/docs/objects', { objects })
  }

  async backUp(): Promise<void> {
    await this.must('POST', '/api/v2/collection/docs/backup', { name: 'first' })
    await this.shows(/^annal_backups 1$/m)
  }

  /** Waits until the metrics have a line. */
  async shows(line: RegExp): Promise<void> {
    await eventually(async () => {
      const reply = await this.send('GET', '/metrics').catch(() => undefined)
      return (reply && line.test(reply.text)) || undefined
    })
  }
}

interface MemberSettings {
  readonly through?: readonly string[]
  readonly token?: string
  readonly scheme?: 'https'
  readonly [name: `NDD_${string}`]: string
  readonly [name: `AWS_${string}`]: string
}

const search = { fields: { v: { query: [1, 1], limit: 1 } } }

/** Nothing goes wrong on this server: it must lead to no alert. */
export async function soundServer(t: Test, dir: string): Promise<Member> {
  const member = await Member.create(t, 'annal-sound', { NDD_DATA_DIR: path.join(dir, 'sound') })
  await member.start()
  await member.createDocs()
  await member.backUp()
  return member
}

/** Its disk is full. Undefined where nothing can be mounted. */
export async function fullDisk(t: Test, dir: string): Promise<Trouble | string> {
  const place = path.join(dir, 'full')
  await mkdir(place)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', place], { stdio: 'pipe' })
  } catch {
    return 'nothing can be mounted here'
  }
  t.teardown(async () => execFileSync('umount', ['-l', place]))
  const member = await Member.create(t, 'annal-full', { NDD_DATA_DIR: path.join(place, 'data') })
  return {
    targets: [member.target],
    alerts: ['AnnalDiskNearlyFull', 'AnnalReadOnly', 'AnnalRequestsFail'].map((alert) => `annal-full ${alert}`),
    async provoke({ hasFired }) {
      await member.start()
      await member.createDocs()
      await writeFile(path.join(place, 'filler'), Buffer.alloc(390 * 1_048_576)).catch(() => undefined)
      await eventually(async () => {
        const json = { objects: [{ id: 'b', fields: { v: [1, 1] } }] }
        return (await member.send('POST', '/api/v2/collection/docs/objects', { json })).status === 507 || undefined
      })
      await hasFired('AnnalDiskNearlyFull', 'AnnalReadOnly', 'AnnalRequestsFail')
    },
  }
}

/** Clients send too much, too slowly, and wrong tokens; it crashes and is started again, and is not started at last. Its backup is old. */
export async function busyServer(t: Test, dir: string): Promise<Trouble> {
  const token = 'a-token-of-the-busy-server'
  const settings = { token, NDD_DATA_DIR: path.join(dir, 'busy'), NDD_AUTH_TOKEN: token, NDD_RATE_LIMIT: '60' }
  const member = await Member.create(t, 'annal-busy', settings)
  const names = ['Down', 'Restarts', 'LatencyHigh', 'RequestsRefused', 'TokensRefused', 'BackupOld']
  return {
    targets: [member.target],
    alerts: names.map((name) => `annal-busy Annal${name}`),
    async provoke({ hasFired, shows }) {
      // Two days ago.
      const clock = `const { now } = Date; Date.now = () => now() - ${2 * dayMs}`
      await member.start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` })
      await member.createDocs()
      await member.backUp()
      const untilSeen = async () => {
        const { text } = await member.send('GET', '/metrics')
        const [, start] = /^process_start_time_seconds (.+)$/m.exec(text) ?? []
        await shows(`process_start_time_seconds{job="annal-busy"} == ${start}`)
      }
      await untilSeen()
      for (const signal of ['SIGTERM', 'SIGKILL', 'SIGKILL'] as const) {
        await member.end(signal)
        await member.start()
        await untilSeen()
      }
      await hasFired('AnnalRestarts', 'AnnalBackupOld')
      await member.must('POST', '/api/v2/collection/docs/search', search)
      await sleep(1_000)
      await Promise.all([1, 2, 3].map(() => slowSearch(member)))
      const guess = () => member.send('GET', '/api/v2/collection', { headers: { authorization: 'wrong' } })
      await guess()
      await sleep(1_000)
      await Promise.all(Array.from({ length: 8 }, guess))
      let isOver = false
      const flood = async () => {
        while (!isOver) {
          await Promise.all(Array.from({ length: 80 }, () => member.send('GET', '/api/v2/collection')))
          await sleep(300)
        }
      }
      const flooding = flood()
      await hasFired('AnnalLatencyHigh', 'AnnalTokensRefused', 'AnnalRequestsRefused')
      isOver = true
      await flooding
      await member.end('SIGKILL')
      await hasFired('AnnalDown')
    },
  }
}

/** A search whose body arrives in two parts, 1.2 s apart. */
async function slowSearch({ target }: Member): Promise<void> {
  const [host = '', port] = target.address.split(':')
  const body = JSON.stringify(search)
  const head = [
    'POST /api/v2/collection/docs/search HTTP/1.1',
    `Host: ${target.address}`,
    `Authorization: ${target.token}`,
    'Content-Type: application/json',
    'Connection: close',
    `Content-Length: ${body.length}`,
  ]
  const socket = net.connect(Number(port), host)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
  await sleep(1_200)
  socket.write(body.slice(5))
  await closed
}

/** Its license and its certificate end in a few days. */
export async function endingTerms(t: Test, dir: string): Promise<Trouble> {
  const [dataDir, cert, key] = ['terms', 'cert.pem', 'key.pem'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
  ]
  const subject = ['-subj', '/CN=localhost', '-days', '5', '-keyout', key, '-out', cert]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', ...subject],
    {
      stdio: 'pipe',
    },
  )
  await layLicense(dataDir, issued({ endMs: Date.now() + 3 * dayMs }))
  const token = 'a-root-token-of-the-test'
  const member = await Member.create(t, 'annal-terms', {
    ...{ token, scheme: 'https', NDD_DATA_DIR: dataDir, NDD_TLS_CERT: cert, NDD_TLS_KEY: key },
    ...{ NDD_ROOT_TOKEN: token, NDD_LICENSE_PUBLIC_KEY: vendor.publicKey },
  })
  return {
    targets: [member.target],
    alerts: ['annal-terms AnnalLicenseEnds', 'annal-terms AnnalCertificateEnds'],
    async provoke({ hasFired }) {
      await member.start()
      await hasFired('AnnalLicenseEnds', 'AnnalCertificateEnds')
    },
  }
}

/** The bucket that one server writes and another follows does not answer. */
export async function lostBucket(t: Test, dir: string): Promise<Trouble> {
  const { environment, close } = await new ObjectServer(seededRandom(1)).open()
  t.teardown(close)
  const bucket = 's3://annal/shop'
  const settings = { ...environment, NDD_ARCHIVE_LAG_MAX_S: '2' }
  const [writer, follower] = await Promise.all([
    Member.create(t, 'annal-writer', { ...settings, NDD_DATA_DIR: path.join(dir, 'writer'), NDD_ARCHIVE_S3: bucket }),
    Member.create(t, 'annal-follower', {
      ...settings,
      NDD_DATA_DIR: path.join(dir, 'follower'),
      NDD_FOLLOW_S3: bucket,
    }),
  ])
  return {
    targets: [writer.target, follower.target],
    alerts: ['annal-writer AnnalArchiveLate', 'annal-writer AnnalDegraded', 'annal-follower AnnalFollowerLate'],
    async provoke({ hasFired }) {
      await writer.start()
      await writer.createDocs()
      await writer.shows(/^annal_bucket_archive_lsn [1-9]/m)
      await follower.start()
      await follower.shows(/^annal_objects 1$/m)
      close()
      await writer.store(['b'])
      await hasFired('AnnalArchiveLate', 'AnnalDegraded', 'AnnalFollowerLate')
    },
  }
}

/** The NATS server of a node starts late, is lost, and comes back without the newest records. */
export async function lostNats(t: Test, dir: string): Promise<Trouble> {
  const nats = await startNatsServer(t, `jetstream { store_dir: "${dir}/nats", sync_interval: always }`)
  await nats.kill()
  const member = await Member.create(t, 'annal-node', {
    ...{ NDD_DATA_DIR: path.join(dir, 'node'), NDD_CLUSTER_URL: nats.url, NDD_CLUSTER_REPLICAS: '1' },
    ...{ NDD_CLUSTER_LEASE_MS: '1000' },
  })
  return {
    targets: [member.target],
    alerts: ['Starting', 'NoLeader', 'NodeLate', 'Failed'].map((name) => `annal-node Annal${name}`),
    async provoke({ hasFired }) {
      member.launch()
      await hasFired('AnnalStarting')
      nats.start()
      await member.shows(/^annal_cluster_role\{role="leader"\} 1$/m)
      await member.createDocs()
      const [store, earlier] = [path.join(dir, 'nats'), path.join(dir, 'nats-earlier')]
      await nats.kill()
      await cp(store, earlier, { recursive: true })
      nats.start()
      await member.store(['b', 'c'])
      await nats.kill()
      await hasFired('AnnalNoLeader', 'AnnalNodeLate')
      await rm(store, { recursive: true })
      await cp(earlier, store, { recursive: true })
      nats.start()
      await hasFired('AnnalFailed')
    },
  }
}

/** Its disk is slow, checkpoints have no place, and its provider of vectors is gone. */
export async function badDevices(t: Test, dir: string): Promise<Trouble | string> {
  try {
    execFileSync('strace', ['--version'], { stdio: 'ignore' })
  } catch {
    return 'strace is not installed'
  }
  const provider = { kind: 'openai', url: 'http://127.0.0.1:1/v1/embeddings', model: 'm', dimension: 2 }
  const providers = path.join(dir, 'providers.json')
  await writeFile(providers, JSON.stringify({ local: { ...provider, timeout_ms: 100, deadline_ms: 200 } }))
  const dataDir = path.join(dir, 'devices')
  const slow = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_exit=150000']
  const member = await Member.create(t, 'annal-devices', {
    through: ['strace', '-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', ...slow],
    ...{ NDD_DATA_DIR: dataDir, NDD_PROVIDERS: providers },
  })
  return {
    targets: [member.target],
    alerts: ['SyncSlow', 'CheckpointsFail', 'ProviderFails'].map((name) => `annal-devices Annal${name}`),
    async provoke({ hasFired }) {
      await member.start()
      await member.createDocs()
      const embed = { provider: 'local', from: 'body' }
      const fields = [
        { name: 'body', type: 'text', params: { language: 'english' } },
        { name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', embed } },
      ]
      await member.must('POST', '/api/v2/collection', { name: 'notes', fields })
      await rm(path.join(dataDir, 'checkpoints'), { recursive: true, force: true })
      await writeFile(path.join(dataDir, 'checkpoints'), '')
      let isOver = false
      const note = { objects: [{ id: 'n', fields: { body: 'a text' } }] }
      const write = async () => {
        for (let n = 0; !isOver; n++) {
          await member.store(Array.from({ length: n === 0 ? 1_000 : 200 }, (_, i) => `${n}-${i}`))
          const reply = await member.send('POST', '/api/v2/collection/notes/objects', { json: note })
          if (!reply.text.includes('embedding_failed')) throw new Error(`${reply.status} ${reply.text}`)
          if (n === 40) await sleep(6_000)
        }
      }
      const writing = write()
      await hasFired('AnnalSyncSlow', 'AnnalProviderFails', 'AnnalCheckpointsFail')
      isOver = true
      await writing
    },
  }
}

/** It needs nearly all memory of its control group. */
export async function littleMemory(t: Test, dir: string): Promise<Trouble | string> {
  const group = await makeMemoryCgroup(4 * 2 ** 30)
  if (group === undefined) return 'no control group can be created here'
  const member = await Member.create(t, 'annal-memory', { through: group.join, NDD_DATA_DIR: path.join(dir, 'memory') })
  t.teardown(async () => {
    await member.end('SIGKILL')
    await group.remove()
  })
  return {
    targets: [member.target],
    alerts: ['annal-memory AnnalMemoryHigh', 'annal-memory AnnalMemoryScarce'],
    async provoke({ hasFired }) {
      await member.start()
      let isOver = false
      const tighten = async () => {
        while (!isOver) {
          const { text } = await member.send('GET', '/metrics')
          const [resident, used] = ['process_resident_memory_bytes', 'annal_memory_used_bytes'].map((name) =>
            Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]),
          ) as [number, number]
          // Code that is mapped from files is not charged to the group. The server may give memory back, so the limit follows. With so little
          // memory, writes leave three eighths of it free.
          await group.limit(Math.ceil(Math.min(resident * 1.05, used * 1.5)))
          await sleep(1_000)
        }
      }
      const tightening = tighten()
      await hasFired('AnnalMemoryHigh', 'AnnalMemoryScarce')
      isOver = true
      await tightening
    },
  }
}

/** A serving thread exits, and nobody has made a backup. */
export async function lostThread(t: Test): Promise<Trouble> {
  const { url, app, send: ask } = await runningApp(t, { serverThreads: 2 })
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
  await ask('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  await ask('POST', '/api/v2/collection/docs/objects', { json: { objects: [{ id: 'a', fields: { v: [1, 1] } }] } })
  return {
    targets: [{ job: 'annal-threads', address: new URL(url).host }],
    alerts: ['annal-threads AnnalThreadsLost', 'annal-threads AnnalBackupMissing'],
    async provoke({ hasFired }) {
      await hasFired('AnnalBackupMissing')
      // The type of the server that the framework declares does not include it.
      const { threads } = app.server as unknown as ThreadedServer
      threads?.terminate(0, 'of the test')
      await hasFired('AnnalThreadsLost')
    },
  }
}

/** The name of every alert in the rules. */
export async function alertsIn(file: string): Promise<string[]> {
  return [...(await readFile(file, 'utf8')).matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name)
}
