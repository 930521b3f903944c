// Runs the adapters of benchmarks/adapters against a server, as their harnesses would, and the same for peers that can be had here: hnswlib
// (Debian's python3-hnswlib), pgvector (in PGlite, PostgreSQL compiled to WebAssembly: one session, no threads), and exact answers by NumPy and
// SciPy. A peer that is missing is named and left out. Each harness gets a server of its own with an empty directory.
//
//   npm run bench:adapters -- --data DIR [--runs NAME,...] [--without PEER,...] [--json FILE] [--markdown FILE] [OPTION OF THE RUNNER ...]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startServer } from '../http/server-process.ts'
import { type PeerServer, startPostgres } from './postgres.ts'
import { findPython, runHarness } from './python.ts'
import { type Line, tableOf } from './tables.ts'

interface Run {
  readonly harness: string
  readonly set: string
  readonly peers: readonly string[]
  readonly options?: readonly string[]
}

const runs: Readonly<Record<string, Run>> = {
  'ann-benchmarks': { harness: 'ann-benchmarks', set: 'sift-bsds-a', peers: ['hnswlib', 'pgvector'] },
  vectordbbench: {
    harness: 'vectordbbench',
    set: 'sift-bsds-a',
    peers: ['hnswlib', 'pgvector'],
    options: ['--rate', '2000', '--capacity-seconds', '30'],
  },
  'vectordbbench-text': { harness: 'vectordbbench-text', set: 'npl', peers: ['exact'] },
  'vector-db-benchmark': { harness: 'vector-db-benchmark', set: 'fashion-mnist', peers: ['hnswlib', 'pgvector'] },
  'vector-db-benchmark-sparse': { harness: 'vector-db-benchmark-sparse', set: 'npl', peers: ['exact'] },
  'big-ann-filter': { harness: 'big-ann-filter', set: 'fashion-mnist', peers: ['exact', 'pgvector'] },
  'big-ann-sparse': { harness: 'big-ann-sparse', set: 'npl', peers: ['exact'] },
}

const { values, positionals } = parseArgs({
  options: {
    data: { type: 'string' },
    runs: { type: 'string', default: Object.keys(runs).join(',') },
    without: { type: 'string', default: '' },
    json: { type: 'string' },
    markdown: { type: 'string' },
  },
  allowPositionals: true,
})
const { data } = values
if (data === undefined) throw new Error('--data DIR must name the folder that contains the sets')
const python = findPython()
const lines: Line[] = []
console.log(JSON.stringify({ machine: cpus()[0]?.model, cores: availableParallelism(), node: process.version, python }))
for (const name of values.runs.split(',')) {
  const run = runs[name]
  if (run === undefined) throw new Error(`unknown run "${name}"; known: ${Object.keys(runs).join(', ')}`)
  lines.push(...(await measure(run, data)))
}
if (values.json !== undefined) writeFileSync(values.json, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
if (values.markdown !== undefined) writeFileSync(values.markdown, tableOf(lines))

async function measure({ harness, set, peers, options = [] }: Run, folder: string): Promise<Line[]> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'annal-adapters-'))
  const wanted = peers.filter((peer) => !values.without.split(',').includes(peer))
  const server = await startServer({ dataDir, environment: { NDD_ARCHIVE_HOURS: '0' } })
  let postgres: PeerServer | undefined
  try {
    postgres = wanted.includes('pgvector') ? await postgresIfHad() : undefined
    const had = wanted.filter((peer) => peer !== 'pgvector' || postgres !== undefined)
    const args = [harness, '--url', `http://127.0.0.1:${server.port}`, '--data', path.join(folder, set)]
    args.push('--peers', had.join(','), ...options, ...positionals)
    const environment = {
      ANNAL_PID: String(server.pid),
      ...(postgres && { ANNAL_PEER_POSTGRES: postgres.connection, ANNAL_PEER_POSTGRES_PID: String(postgres.pid) }),
    }
    return await runHarness(args, environment, (line) => console.log(line))
  } finally {
    await postgres?.stop()
    await server.stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function postgresIfHad(): Promise<PeerServer | undefined> {
  try {
    return await startPostgres()
  } catch (error) {
    const why = String(error).split('\n', 1)[0]
    console.log(JSON.stringify({ left_out: 'pgvector', why, load: Number(loadavg()[0]?.toFixed(1)) }))
    return undefined
  }
}
