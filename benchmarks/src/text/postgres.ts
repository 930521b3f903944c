// A PostgreSQL server of its own in a temporary folder, with a table of texts and an index of their words, over TCP. Linux only.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from '../free-port.ts'
import type { Target } from '../http/connection.ts'
import { batchesOf } from './libraries.ts'
import type { Texts } from './texts.ts'

export interface PostgresTexts {
  readonly version: string
  readonly seconds: number
  readonly tableBytes: number
  readonly indexBytes: number
  readonly target: Target
  /** The ids of all texts with all words. */
  ids(query: string): Promise<readonly number[]>
  /** Milliseconds of CPU time of the server and its processes since it started. */
  cpuMs(): number
  stop(): Promise<void>
}

/** The ids of the 10 best texts with all words of the parameter, ranked. */
export const ranked = `SELECT id FROM texts, plainto_tsquery('simple', $1) query WHERE words @@ query ORDER BY ts_rank(words, query) DESC LIMIT 10`
const all = `SELECT id FROM texts WHERE words @@ plainto_tsquery('simple', $1)`

/** Enough for everything in memory. Compiling a query would take longer than running it, and lists of rows must not become lists of pages. */
const settings = ['shared_buffers=2GB', 'work_mem=64MB', 'jit=off', 'max_connections=20', 'unix_socket_directories=']
/** No commit of the load waits for the disk. Searches do not depend on it. */
const loading = ['fsync=off', 'max_wal_size=4GB', 'maintenance_work_mem=512MB']

/** Where the programs of PostgreSQL are, or undefined. */
export function postgresFolder(): string | undefined {
  const versions = '/usr/lib/postgresql'
  const installed = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...installed.map((version) => path.join(versions, version, 'bin')), ...pathFolders()]
  return folders.find((folder) => existsSync(path.join(folder, 'initdb')) && existsSync(path.join(folder, 'postgres')))
}

function pathFolders(): readonly string[] {
  return (process.env.PATH ?? '').split(':').filter((folder) => folder !== '')
}

export async function startPostgres(programs: string, texts: Texts): Promise<PostgresTexts> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-postgres-'))
  // PostgreSQL refuses to run as root.
  const owner = process.getuid?.() === 0 ? serviceUser() : undefined
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = path.join(folder, 'data')
  const options = { ...owner, cwd: folder }
  execFileSync(
    path.join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...options, stdio: 'pipe' },
  )
  const port = await freePort()
  const parameters = [...settings, ...loading].flatMap((setting) => ['-c', setting])
  const server = spawn(
    path.join(programs, 'postgres'),
    ['-D', data, '-p', `${port}`, '-h', '127.0.0.1', ...parameters],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let printed = ''
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-4_000)
  })
  const stop = async () => {
    if (server.exitCode === null) {
      // A fast shutdown: connections are closed.
      server.kill('SIGINT')
      await once(server, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  const config = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' }
  const connect = async (): Promise<Client> => {
    for (let attempt = 0; ; attempt++) {
      const client = new Client(config)
      try {
        await client.connect()
        return client
      } catch (error) {
        if (attempt > 300 || server.exitCode !== null) throw new Error(`${String(error)}\n${printed}`)
        await sleep(100)
      }
    }
  }
  try {
    const client = await connect()
    const loaded = await load(client, texts)
    return {
      ...loaded,
      target: { host: config.host, port },
      ids: async (query) => {
        const { rows } = await client.query<[number]>({ name: 'all', text: all, values: [query], rowMode: 'array' })
        return rows.map(([id]) => id)
      },
      cpuMs: () => cpuMsOf(server.pid ?? 0),
      stop: async () => {
        await client.end()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function serviceUser(): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined || gid === undefined)
    throw new Error('root cannot run PostgreSQL, and there is no user postgres')
  return { uid: Number(uid), gid: Number(gid) }
}

async function load(client: Client, texts: Texts) {
  const begun = performance.now()
  await client.query('CREATE TABLE texts (id integer PRIMARY KEY, body text NOT NULL, words tsvector NOT NULL)')
  const insert = `INSERT INTO texts SELECT id, body, to_tsvector('simple', body) FROM unnest($1::integer[], $2::text[]) AS row (id, body)`
  for (const rows of batchesOf(texts)) await client.query(insert, [rows, rows.map((row) => texts.text(row))])
  await client.query('CREATE INDEX texts_words ON texts USING gin (words)')
  await client.query('VACUUM ANALYZE texts')
  const seconds = (performance.now() - begun) / 1_000
  const sizes = await client.query<{ table: string; index: string; version: string }>(
    `SELECT pg_table_size('texts') AS table, pg_indexes_size('texts') AS index, current_setting('server_version') AS version`,
  )
  const [size] = sizes.rows
  return {
    seconds,
    version: (size?.version ?? '').split(' ')[0] as string,
    tableBytes: Number(size?.table),
    indexBytes: Number(size?.index),
  }
}

/** Ticks of /proc, ten milliseconds each: of processes that are there, and of those that have ended. */
function cpuMsOf(server: number): number {
  let ticks = 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const fields = statOf(entry)
    // The numbers of proc(5), without the first two: 4 parent, 14 and 15 own time, 16 and 17 that of children that ended.
    if (fields === undefined) continue
    if (Number(entry) === server)
      ticks += Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])
    else if (Number(fields[1]) === server) ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks * 10
}

function statOf(process: string): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${process}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
  } catch {
    // It has ended.
    return undefined
  }
}
