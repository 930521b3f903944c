// Searches for all words over TCP: the server of Annal as a process of its own, and PostgreSQL with a GIN index on a tsvector, by a prepared
// statement. By turns, with one caller and with several at a time. The ids of all texts of each query are compared first.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, connect } from '@annal/client'
import { bytesOnDisk } from '../bytes-on-disk.ts'
import { startServer } from '../http/server-process.ts'
import {
  type Callers,
  httpRequest,
  postgresOpening,
  postgresRequest,
  type RequestSets,
  startCallers,
} from './callers.ts'
import type { Having, QueryClass } from './classes.ts'
import { batchesOf, megabytes } from './libraries.ts'
import { type PostgresTexts, ranked, startPostgres } from './postgres.ts'
import type { Texts } from './texts.ts'
import { cellsOf, measureByTurns, type Turns } from './turns.ts'

/** A server that is measured. */
interface Peer {
  readonly name: string
  /** One caller, and several. Their first set of requests is not measured, and the others are the classes. */
  readonly alone: Callers
  readonly together: Callers
  cpuMs(): Promise<number>
}

export interface WireOptions extends Turns {
  /** Callers at a time. */
  readonly callers: number
  /** Where the programs of PostgreSQL are. */
  readonly programs: string
  /** The compiled program of the callers. */
  readonly caller: string
}

export interface WireResult {
  readonly page: string
  readonly differences: number
}

const k = 10
const limitMax = 4_096
/** Of each class before the first turn. A server in JavaScript compiles what it runs often, in each of its threads. */
const warmMs = 2_000

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
    const wanted = classes.filter(({ combine }) => combine === 'all')
    const setsOf = (first: readonly Buffer[], request: (query: string) => Buffer): RequestSets => [
      first,
      ...wanted.map(({ queries }) => queries.map((words) => request(words.join(' ')))),
    ]
    const request = (query: string) => httpRequest(own, '/api/v2/collection/texts/search', searchOf(query, k))
    const ownSets = setsOf([], request)
    const otherSets = setsOf(postgresOpening(ranked), postgresRequest)
    const ownCallers = (count: number) => startCallers(options.caller, 'http', own, count, ownSets)
    const otherCallers = (count: number) => startCallers(options.caller, 'postgres', target, count, otherSets)
    const peers: Peer[] = [
      {
        name: 'annal',
        alone: ownCallers(1),
        together: ownCallers(options.callers),
        cpuMs: async () => [...(await server.cpu()).values()].reduce((sum, ms) => sum + ms, 0),
      },
      {
        name: 'postgres',
        alone: otherCallers(1),
        together: otherCallers(options.callers),
        cpuMs: async () => cpuMs(),
      },
    ]
    const idsOf = async (query: string) => {
      const { results } = await collection.search(searchOf(query, limitMax))
      return (results.body ?? []).map(({ id }) => Number(id))
    }
    const differences = await compareIds(wanted, having, idsOf, postgres.ids)
    for (const { together } of peers) for (const [i] of wanted.entries()) await together.run(i + 1, warmMs)
    const lines: string[] = []
    for (const [i, { name }] of wanted.entries()) {
      const alone = await measure(peers, ({ alone }) => alone, i + 1, options)
      const together = await measure(peers, ({ together }) => together, i + 1, options)
      lines.push(`| ${name} | ${alone.cells} | ${together.cells} | ${alone.cpu} | ${together.cpu} |`)
    }
    for (const { alone, together } of peers) for (const callers of [alone, together]) callers.close()
    const { description } = texts
    const page = [
      `${description} Microseconds for each query of the ${k} best, ranked on both sides, with 1 caller and with ${options.callers} concurrent callers.`,
      'Brackets have the ratio to Annal, the median of all rounds. CPU is the CPU time of the server for each query.',
      `${wanted.flatMap(({ queries }) => queries).length} queries: PostgreSQL found the ids of all texts with all words, and Annal the same ones, the first ${limitMax} at most (${differences} differences).`,
      `Annal: ${megabytes(before)} resident, ${megabytes(bytesOnDisk(dataDir))} on disk, stored in ${seconds.toFixed(0)} s. PostgreSQL ${postgres.version}: table ${megabytes(postgres.tableBytes)}, indexes ${megabytes(postgres.indexBytes)}, stored in ${postgres.seconds.toFixed(0)} s.`,
      `Median of ${options.rounds} rounds, turns of at least ${options.turnMs} ms.`,
      '',
      `| all words | annal | postgres | annal, ${options.callers} | postgres, ${options.callers} | CPU, annal | CPU, postgres | CPU, annal, ${options.callers} | CPU, postgres, ${options.callers} |`,
      '|---|---|---|---|---|---|---|---|---|',
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

async function measure(peers: readonly Peer[], callersOf: (peer: Peer) => Callers, set: number, turns: Turns) {
  const cpu = peers.map((): { ms: number; queries: number }[] => [])
  const measured = await measureByTurns(turns, peers.length, async (at) => {
    const peer = peers[at] as Peer
    const before = await peer.cpuMs()
    const ran = await callersOf(peer).run(set, turns.turnMs)
    cpu[at]?.push({ ms: (await peer.cpuMs()) - before, queries: ran.queries })
    return ran
  })
  return { cells: cellsOf(measured), cpu: cpu.map((turns) => microsOf(turns).toFixed(0)).join(' | ') }
}

/** The second half: the server has compiled by then. Ticks are too long for the time of a single turn. */
function microsOf(turns: readonly { readonly ms: number; readonly queries: number }[]): number {
  const last = turns.slice(turns.length >> 1)
  const sum = (of: (turn: (typeof last)[number]) => number) => last.reduce((total, turn) => total + of(turn), 0)
  return (sum(({ ms }) => ms) * 1_000) / sum(({ queries }) => queries)
}
