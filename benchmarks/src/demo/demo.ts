// The demo: a server on an empty directory, a full load over HTTP, measured answers, a clean restart, a kill during a second load, and a
// check of the remaining data. Everything is observed from outside, as a client sees it.
import path from 'node:path'
import type { VectorRecord } from '@annal/client'
import { freePort } from '../free-port.ts'
import { type Accuracy, answersExactly, measureAccuracy } from './accuracy.ts'
import type { Dataset } from './dataset.ts'
import { type Batch, batchesOf, load } from './load.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { countSurvivors, type Survivors } from './survivors.ts'
import { formatCount, type Terminal } from './terminal.ts'

export interface DemoOptions {
  readonly data: Dataset
  /** An empty directory; the caller removes it afterwards. */
  readonly scratch: string
  /** Values of ef to measure; the default of 128 is one of them. */
  readonly efs: readonly number[]
  /** Queries in each measurement. */
  readonly queries: number
}

export interface Figures {
  readonly data: string
  readonly vectors: number
  readonly dimension: number
  readonly recallMin: number
  readonly loadSeconds: number
  readonly vectorsPerSecond: number
  readonly accuracy: readonly Accuracy[]
  /** Time from the start of the process to the first exact answer, after a clean stop. */
  readonly restartMs: number
  /** The same after SIGKILL, with the interrupted second load to recover. */
  readonly restartAfterKillMs: number
  readonly crash: Survivors
}

const batchSize = 500
const batchesAtOnce = 4
const indexName = 'demo'
export const efDefault = 128
/** Share of the second load that is acknowledged when the server is killed. */
const killAt = 0.4

export async function runDemo(options: DemoOptions, out: Terminal): Promise<Figures> {
  const { data } = options
  const place = { dataDir: path.join(options.scratch, 'data'), port: await freePort() }
  let server = startServer(place)
  try {
    await server.ready(60_000)
    const first = batchesOf(recordsOf(data.count, data.base, 0), batchSize)
    const loadSeconds = await firstLoad(server, data, first, out)
    const accuracy = await measureAll(server, options, out)
    const probe = perfectQuery(accuracy)

    await stopServer(server)
    const restart = await restartServer(place, data, probe)
    server = restart.server
    out.line('restart after a stop', `${restart.ms.toFixed(0)} ms to the first exact answer`)

    const second = batchesOf(recordsOf(data.queryCount, data.query, data.count), data.queryCount / 50)
    await killDuringLoad(server, second, out)
    const recovery = await restartServer(place, data, probe)
    server = recovery.server
    out.line('restart after SIGKILL', `${recovery.ms.toFixed(0)} ms to the first exact answer`)
    const crash = await checkSurvivors(server, [...first, ...second], out)
    await stopServer(server)
    return {
      data: data.title,
      vectors: data.count,
      dimension: data.dimension,
      recallMin: data.recallMin,
      loadSeconds,
      vectorsPerSecond: data.count / loadSeconds,
      accuracy,
      restartMs: restart.ms,
      restartAfterKillMs: recovery.ms,
      crash,
    }
  } finally {
    await server.kill()
  }
}

function recordsOf(count: number, row: (i: number) => ArrayLike<number>, idFirst: number): VectorRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    id: String(idFirst + i),
    vector: row(i),
    meta: { row: idFirst + i },
  }))
}

async function firstLoad(server: ServerProcess, data: Dataset, batches: readonly Batch[], out: Terminal) {
  out.title(`Loading ${data.title}`)
  const index = await server.client.createIndex({ name: indexName, dimension: data.dimension, spaceType: data.space })
  const progress = out.progress('loading', data.count)
  const startMs = performance.now()
  await load(index, batches, { batchesAtOnce, onAcknowledged: ({ records }) => progress.advance(records.length) })
  const seconds = (performance.now() - startMs) / 1_000
  progress.end()
  out.line(
    'loaded, durable, searchable',
    `${formatCount(data.count)} in ${seconds.toFixed(1)} s = ${rate(data.count, seconds)}`,
  )
  return seconds
}

async function measureAll(server: ServerProcess, { data, efs, queries }: DemoOptions, out: Terminal) {
  out.title(`Running ${formatCount(queries)} queries, one after another`)
  const all: Accuracy[] = []
  for (const ef of efs) {
    const progress = out.progress(`ef ${ef}`, queries)
    const index = server.client.index(indexName)
    // The first queries after a load run code that is not compiled yet, unlike in a running server.
    await measureAccuracy(index, data, { ef, queries: Math.min(queries, 100), onAnswer: () => undefined })
    const result = await measureAccuracy(index, data, { ef, queries, onAnswer: () => progress.advance(1) })
    progress.end()
    const times = `p50 ${result.p50Ms.toFixed(2)} ms, p99 ${result.p99Ms.toFixed(2)} ms`
    out.line(
      ef === efDefault ? `ef ${ef} (default)` : `ef ${ef}`,
      `recall@10 ${result.recallAt10.toFixed(4)}, ${times}`,
    )
    all.push(result)
  }
  return all
}

function perfectQuery(accuracy: readonly Accuracy[]): number {
  const query = accuracy.find(({ ef }) => ef === efDefault)?.perfectQuery
  if (query === undefined) throw new Error('no query was answered exactly, so nothing can be compared after a restart')
  return query
}

async function stopServer(server: ServerProcess): Promise<void> {
  const code = await server.stop()
  if (code !== 0) throw new Error(`the server exited with code ${code} after SIGTERM`)
}

/** The clock starts before the process. */
async function restartServer(place: Parameters<typeof startServer>[0], data: Dataset, probe: number) {
  const startMs = performance.now()
  const server = startServer(place)
  await server.ready(120_000)
  const index = server.client.index(indexName)
  if (!(await answersExactly(index, data, probe))) {
    await server.kill()
    throw new Error('after the restart, a query is no longer answered exactly')
  }
  return { server, ms: performance.now() - startMs }
}

async function killDuringLoad(server: ServerProcess, batches: readonly Batch[], out: Terminal): Promise<void> {
  out.title('Killing the server during a second load')
  const total = batches.reduce((sum, { records }) => sum + records.length, 0)
  let acknowledged = 0
  let killed: Promise<void> | undefined
  const onAcknowledged = ({ records }: Batch) => {
    acknowledged += records.length
    if (acknowledged >= total * killAt) killed ??= server.kill()
  }
  const failure = await load(server.client.index(indexName), batches, { batchesAtOnce, onAcknowledged }).catch(
    (error: unknown) => error,
  )
  if (killed === undefined) throw failure
  await killed
  if (failure === undefined) throw new Error('the second load ended before the server was killed')
  const sent = batches.filter(({ outcome }) => outcome === 'unknown').length
  out.line(
    'SIGKILL',
    `after ${formatCount(acknowledged)} of ${formatCount(total)} acknowledged, ${sent} batches unanswered`,
  )
}

async function checkSurvivors(server: ServerProcess, batches: readonly Batch[], out: Terminal): Promise<Survivors> {
  const sent = batches.filter(({ outcome }) => outcome !== 'unsent')
  const progress = out.progress(
    'reading all vectors',
    sent.reduce((sum, { records }) => sum + records.length, 0),
  )
  const crash = await countSurvivors(server.client.index(indexName), batches, () => progress.advance(1))
  progress.end()
  out.line(
    'read',
    `${formatCount(crash.acknowledged)} acknowledged vectors: ${crash.lost} lost, ${crash.phantom} phantom`,
  )
  out.line(
    'unanswered batches',
    `${crash.unansweredStored} of ${crash.unanswered} stored, each completely or not at all`,
  )
  return crash
}

function rate(count: number, seconds: number): string {
  return `${formatCount(Math.round(count / seconds))} vectors/s`
}
