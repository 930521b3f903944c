// Searches for all words over TCP: the server of Annal as a process of its own, and PostgreSQL with a GIN index on a tsvector, by a prepared
// statement. By turns, with one caller and with several at a time. The ids of all texts of each query are compared first.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, connect } from '@annal/client'
import { startServer } from '../http/server-process.ts'
import { type Caller, httpCaller, httpRequest, postgresCaller, postgresRequest } from './callers.ts'
import type { Having, QueryClass } from './classes.ts'
import { batchesOf, bytesOnDisk, megabytes } from './libraries.ts'
import { type PostgresTexts, ranked, startPostgres } from './postgres.ts'
import type { Texts } from './texts.ts'
import { cellsOf, measureByTurns, type Turns } from './turns.ts'

/** A server that is measured. */
interface Peer {
  readonly name: string
  /** One for each caller. */
  readonly callers: readonly Caller[]
  request(query: string): Buffer
  cpuMs(): Promise<number>
}

export interface WireOptions extends Turns {
  /** Callers at a time. */
  readonly callers: number
  /** Where the programs of PostgreSQL are. */
  readonly programs: string
}

export interface WireResult {
  readonly page: string
  readonly differences: number
}

const k = 10
const limitMax = 4_096
const warmRequests = 5_000

export async function compareOverWire(
  texts: Texts,
  classes: readonly QueryClass[],
  having: Having,
  options: WireOptions,
): Promise<WireResult> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-wire-'))
  const server = await startServer({ dataDir, environment: { NDD_TOP_K_MAX: `${limitMax}`, NDD_HOST: '127.0.0.1' } })
  let postgres: PostgresTexts | undefined
  try {
    const client = connect({ url: `http://127.0.0.1:${server.port}`, timeoutMs: 120_000 })
    const begun = performance.now()
    const collection = await fillServer(client, texts)
    const seconds = (performance.now() - begun) / 1_000
    const before = await server.residentBytes()
    console.error(`annal: stored in ${seconds.toFixed(0)} s`)
    postgres = await startPostgres(options.programs, texts)
    console.error(`postgres: stored and indexed in ${postgres.seconds.toFixed(0)} s`)
    const { target, cpuMs } = postgres
    const own = { host: '127.0.0.1', port: server.port }
    const searchOf = (query: string, limit: number) => ({
      fields: { body: { query, operator: 'and' as const, limit } },
    })
    const path = '/api/v2/collection/texts/search'
    const numbers = Array.from({ length: options.callers }, (_, i) => i)
    const peers: Peer[] = [
      {
        name: 'annal',
        callers: numbers.map(() => httpCaller(own)),
        request: (query) => httpRequest(own, path, searchOf(query, k)),
        cpuMs: async () => [...(await server.cpu()).values()].reduce((sum, ms) => sum + ms, 0),
      },
      {
        name: 'postgres',
        callers: await Promise.all(numbers.map(() => postgresCaller(target, ranked))),
        request: postgresRequest,
        cpuMs: async () => cpuMs(),
      },
    ]
    const idsOf = async (query: string) => {
      const { results } = await collection.search(searchOf(query, limitMax))
      return (results.body ?? []).map(({ id }) => Number(id))
    }
    const wanted = classes.filter(({ combine }) => combine === 'all')
    const differences = await compareIds(wanted, having, idsOf, postgres.ids)
    for (const peer of peers) await warm(peer, wanted)
    const lines: string[] = []
    for (const one of wanted) {
      const alone = await measure(one, peers, 1, options)
      const together = await measure(one, peers, options.callers, options)
      lines.push(`| ${one.name} | ${alone.cells} | ${together.cells} | ${alone.cpu} |`)
    }
    for (const { callers } of peers) for (const caller of callers) caller.close()
    const { description } = texts
    const page = [
      `${description} Microseconds for each query of the ${k} best, ranked on both sides, with 1 caller and with ${options.callers} at a time; in brackets`,
      'as a multiple of ours, the median of the quotients of each round. CPU is that of the server for a query, with one caller.',
      `${wanted.flatMap(({ queries }) => queries).length} queries: PostgreSQL found the ids of all texts with all words, and Annal the same ones, the first ${limitMax} at most (${differences} differences).`,
      `Annal: ${megabytes(before)} resident, ${megabytes(bytesOnDisk(dataDir))} on disk, stored in ${seconds.toFixed(0)} s. PostgreSQL ${postgres.version}: table ${megabytes(postgres.tableBytes)}, indexes ${megabytes(postgres.indexBytes)}, stored in ${postgres.seconds.toFixed(0)} s.`,
      `Median of ${options.rounds} rounds, turns of at least ${options.turnMs} ms.`,
      '',
      `| all words | annal | postgres | annal, ${options.callers} | postgres, ${options.callers} | CPU, annal | CPU, postgres |`,
      '|---|---|---|---|---|---|---|',
      ...lines,
      '',
    ].join('\n')
    return { page, differences }
  } finally {
    await postgres?.stop()
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function fillServer(client: ReturnType<typeof connect>, texts: Texts): Promise<Collection> {
  const fields = [{ name: 'body', type: 'text', params: { language: 'none' } }] as const
  await client.createCollection({ name: 'texts', fields })
  const collection = client.collection('texts')
  for (const rows of batchesOf(texts))
    await collection.upsert(rows.map((row) => ({ id: String(row), fields: { body: texts.text(row) } })))
  return collection
}

/** Number of queries whose ids differ. */
async function compareIds(
  classes: readonly QueryClass[],
  having: Having,
  own: (query: string) => Promise<readonly number[]>,
  others: (query: string) => Promise<readonly number[]>,
): Promise<number> {
  let different = 0
  for (const words of classes.flatMap(({ queries }) => queries)) {
    const query = words.join(' ')
    const [rows, ours, theirs] = [new Set(having(words)), await own(query), await others(query)]
    const isSame = (ids: readonly number[], size: number) =>
      new Set(ids).size === size && ids.length === size && ids.every((id) => rows.has(id))
    if (isSame(theirs, rows.size) && isSame(ours, Math.min(limitMax, rows.size))) continue
    different++
    console.error(`${query}: ${rows.size} texts, annal ${ours.length}, postgres ${theirs.length}`)
  }
  return different
}

/** Servers in JavaScript compile what they run often. */
async function warm({ callers, request }: Peer, classes: readonly QueryClass[]): Promise<void> {
  const requests = classes.flatMap(({ queries }) => queries.map((words) => request(words.join(' '))))
  let next = 0
  const run = async (caller: Caller) => {
    while (next < warmRequests) await caller.call(requests[next++ % requests.length] as Buffer)
  }
  await Promise.all(callers.map(run))
}

async function measure({ queries }: QueryClass, peers: readonly Peer[], callers: number, turns: Turns) {
  const wanted = queries.map((words) => words.join(' '))
  const requests = peers.map(({ request }) => wanted.map(request))
  const cpu = peers.map((): { ms: number; queries: number }[] => [])
  const measured = await measureByTurns(turns, peers.length, async (at) => {
    const peer = peers[at] as Peer
    const own = requests[at] as readonly Buffer[]
    const count = own.length * callers
    const before = await peer.cpuMs()
    let next = 0
    const run = async (caller: Caller) => {
      while (next < count) await caller.call(own[next++ % own.length] as Buffer)
    }
    await Promise.all(peer.callers.slice(0, callers).map(run))
    cpu[at]?.push({ ms: (await peer.cpuMs()) - before, queries: count })
    return count
  })
  return { cells: cellsOf(measured), cpu: cpu.map((turns) => microsOf(turns).toFixed(0)).join(' | ') }
}

/** The second half: the server has compiled by then. Ticks are too long for the time of a single turn. */
function microsOf(turns: readonly { readonly ms: number; readonly queries: number }[]): number {
  const last = turns.slice(turns.length >> 1)
  const sum = (of: (turn: (typeof last)[number]) => number) => last.reduce((total, turn) => total + of(turn), 0)
  return (sum(({ ms }) => ms) * 1_000) / sum(({ queries }) => queries)
}
