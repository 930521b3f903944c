// One measurement of one load on one server, over connections that are opened for it.
import { decode } from '@msgpack/msgpack'
import type { Clients, CountedByAll } from './clients.ts'
import type { Contender } from './contender.ts'
import type { Corpus } from './corpus.ts'
import { bodyOf, statusOf } from './framing.ts'
import { type Histogram, quantile } from './histogram.ts'
import {
  batchRequest,
  countOf,
  filters,
  getRequest,
  healthRequest,
  insertRequest,
  isOther,
  type OtherForm,
  searchRequest,
} from './requests.ts'
import type { Row } from './rows.ts'
import { compilingMs, cpuBetween } from './server-process.ts'
import { type Split, splitBetween, threadLoad } from './thread-load.ts'

export interface Round {
  readonly perSecond: number
  readonly replies: number
  readonly failures: number
  /** Microseconds of CPU of the server for each request. */
  readonly cpuUs: number | undefined
  /** The same by thread, the busiest four. */
  readonly threadsUs: readonly number[]
  /** Of the threads of V8, which compile and collect garbage: large while a server is not warm. */
  readonly compileUs: number | undefined
  /** Undefined for a server that does not state it. */
  readonly split: Split | undefined
  readonly clientCpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** Of a sample of the replies. Undefined next to a writer, and for requests that are no searches. */
  readonly recall: number | undefined
  /** Open loop: mean time from when a request was due until the client noticed it. */
  readonly lateMs: number
  /** Batches of 100 objects that the writer stored, a second. */
  readonly batchesPerSecond?: number
}

export interface Measurement {
  readonly round: Round
  readonly latencies: Histogram
}

const efs = [12, 16, 20, 24, 26, 28, 30, 32, 34, 36, 40, 48, 56, 64, 80, 96, 128, 192, 256]
const writerBatch = 100

/** The requests of a row; searches in the order of the queries. */
export function requestsOf(row: Row, contender: Contender, corpus: Corpus, ef: number): readonly Buffer[] {
  const { form, filter } = row
  if (isOther(form)) return otherRequests(form, contender, corpus, ef)
  const { name, queries, terms } = corpus
  const search = { ef, form, ...(filter && { filter: filters[filter].conditions }) }
  return queries.map((query, i) => {
    const own = terms?.queries[i]
    return searchRequest(contender.sender, name, query, { ...search, ...(own && { terms: own }) })
  })
}

const batchesMax = 100

function otherRequests(
  form: OtherForm,
  { sender }: Contender,
  { name, queries, base, dimension }: Corpus,
  ef: number,
): Buffer[] {
  if (form === 'health') return [healthRequest(sender)]
  const count = countOf(form)
  if (form.startsWith('batch'))
    return Array.from({ length: batchesMax }, (_, i) => {
      const batch = Array.from({ length: count }, (_, j) => queries[(i * count + j) % queries.length]!)
      return batchRequest(sender, name, batch, ef)
    })
  const rows = base.length / dimension
  // Far from each other.
  const idOf = (i: number) => `${(i * 7_919) % rows}`
  return queries.map((_, i) =>
    getRequest(
      sender,
      name,
      Array.from({ length: count }, (_, j) => idOf(i * count + j)),
    ),
  )
}

/** The smallest ef whose replies to all queries have the recall of the row. */
export async function efFor(row: Row, contender: Contender, corpus: Corpus, clients: Clients): Promise<number> {
  for (const ef of efs) {
    const requests = requestsOf({ ...row, form: 'json' }, contender, corpus, ef)
    await clients.open({ target: contender.target, connections: 8, requests })
    const { samples } = await clients.run({ seconds: 3_600, sampleEvery: 1, requests: requests.length })
    if (recallOf(samples, corpus, row) >= row.recall) return ef
  }
  throw new Error(`${row.name}: none of ef ${efs.join(', ')} reaches recall@10 of ${row.recall}`)
}

/** Whether the server accepts the form of the row. */
export async function isAccepted(
  requests: readonly Buffer[],
  { target }: Contender,
  clients: Clients,
): Promise<boolean> {
  try {
    await clients.open({ target, connections: 1, requests })
    return true
  } catch {
    return false
  }
}

export interface MeasureOptions {
  readonly row: Row
  readonly corpus: Corpus
  readonly requests: readonly Buffer[]
  readonly clients: Clients
  /** For a row with a writer. */
  readonly writer: Clients
  readonly seconds: number
  readonly seed: number
  /** Rate of an open loop. */
  readonly perSecond?: number
}

export async function measure(contender: Contender, options: MeasureOptions): Promise<Measurement> {
  const { row, corpus, requests, clients, seconds, perSecond, seed } = options
  const { target, sender, server } = contender
  await clients.open({ target, connections: row.connections, requests })
  const writing = row.hasWriter === true ? await startWriting(contender, options) : undefined
  const loadBefore = await threadLoad(target, sender)
  const before = await server?.cpu()
  const schedule = perSecond === undefined ? undefined : { perSecond, seed }
  const counted = await clients.run({ seconds, sampleEvery: 7, ...(schedule && { schedule }) })
  const after = await server?.cpu()
  const loadAfter = loadBefore && (await threadLoad(target, sender))
  const written = await writing?.()
  const names = await server?.names()
  const threads = before && after && cpuBetween(before, after)
  const each = (ms: number): number => (ms * 1_000) / counted.replies
  const { latencies, samples, lateMs } = counted
  return {
    latencies,
    round: {
      perSecond: counted.perSecond,
      replies: counted.replies,
      failures: counted.failures,
      cpuUs: threads && each(threads.reduce((sum, ms) => sum + ms, 0)),
      threadsUs: threads?.slice(0, 4).map(each) ?? [],
      compileUs: before && after && names && each(compilingMs(before, after, names)),
      split: loadBefore && loadAfter && splitBetween(loadBefore, loadAfter),
      clientCpuUs: each(counted.cpuMs),
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      p999Ms: quantile(latencies, 0.999),
      recall: hasRecall(row) ? recallOf(samples, corpus, row) : undefined,
      lateMs,
      ...(written && { batchesPerSecond: written.perSecond }),
    },
  }
}

function hasRecall({ form, hasWriter = false, isSpin = false }: Row): boolean {
  return !isOther(form) && !form.endsWith('hybrid') && !hasWriter && !isSpin
}

/** Starts a client that stores batches of 100 objects, one after another; the result ends it. */
async function startWriting(
  { target, sender }: Contender,
  { corpus, writer }: MeasureOptions,
): Promise<() => Promise<CountedByAll>> {
  const { name, added, dimension } = corpus
  const requests = Array.from({ length: added.length / dimension / writerBatch }, (_, i) => {
    const rows = added.subarray(i * writerBatch * dimension, (i + 1) * writerBatch * dimension)
    return insertRequest(sender, name, { rows, dimension, first: i * writerBatch, prefix: 'w' })
  })
  await writer.open({ target, connections: 1, requests })
  const running = writer.run({ seconds: 3_600, sampleEvery: 1_000 })
  return () => {
    writer.end()
    return running
  }
}

/** Share of the exact neighbors in the replies of published clients, which are MessagePack. */
function recallOf(samples: CountedByAll['samples'], corpus: Corpus, { filter }: Row): number {
  const truth = corpus.truth(filter)
  let found = 0
  let wanted = 0
  for (const [request, bytes] of samples) {
    const reply = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (statusOf(reply) !== 200) continue
    const exact = truth[request]!
    const hits = decode(bodyOf(reply)) as readonly (readonly [number, string])[]
    wanted += exact.size
    for (const [, id] of hits) if (exact.has(Number(id))) found += 1
  }
  return found / wanted
}
