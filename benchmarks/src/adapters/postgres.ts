// pgvector for comparison: PGlite, which is PostgreSQL compiled to WebAssembly, with the extension, behind a socket that speaks the protocol of
// PostgreSQL. It is installed on first use, runs in a process of its own, and has one session.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../free-port.ts'

const packages = [
  '@electric-sql/pglite@0.5.14',
  '@electric-sql/pglite-pgvector@0.0.15',
  '@electric-sql/pglite-socket@0.2.17',
]

const program = `
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
const db = await PGlite.create({ extensions: { vector } })
const server = new PGLiteSocketServer({ db, port: Number(process.argv[2]), host: '127.0.0.1' })
await server.start()
const { rows } = await db.query("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
console.log('pgvector ' + rows[0].default_version)
`

export interface PeerServer {
  /** Connection string for libpq. */
  readonly connection: string
  readonly pid: number
  stop(): Promise<void>
}

export async function startPostgres(): Promise<PeerServer> {
  const port = await freePort()
  const child = spawn(process.execPath, [path.join(install(), 'server.mjs'), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await firstLine(child)
  return {
    connection: `host=127.0.0.1 port=${port} user=postgres dbname=postgres sslmode=disable`,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

function install(): string {
  const folder = path.join(tmpdir(), 'annal-peers', 'pglite-0.5.14')
  if (!existsSync(path.join(folder, 'node_modules', '@electric-sql', 'pglite-socket'))) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, 'package.json'), '{"private":true}')
    const args = ['install', '--no-audit', '--no-fund', '--save-exact', ...packages]
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000 })
  }
  writeFileSync(path.join(folder, 'server.mjs'), program)
  return folder
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the output of PGlite is not piped')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('PGlite exited before it was ready')
}
