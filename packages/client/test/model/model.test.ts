// A server and a model of Maps and loops get the same calls through the client, with one to three serving threads, and must return the same
// results. Several reads run at the same time, so that their connections spread over the threads. The server stops and is killed at random,
// also during a write, which is then stored completely or not at all.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { AnnalError, type Client, connect } from '../../src/index.ts'
import { type ServerProcess, startServer } from '../real-server.ts'
import { list } from './choices.ts'
import { Model } from './memory.ts'
import { check, chosenRead, compareAll } from './reads.ts'
import { chosenWrite, firstWrites, type Write } from './writes.ts'

/** Moments of before a start are in reach. */
const environment = { NDD_ARCHIVE_HOURS: '24' }
const isLong = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const runs = Number(process.env.ANNAL_RUNS ?? (isLong ? 20 : 1))
/** Writes and reads of a run. */
const operations = isLong ? 2_000 : 300
/** Steps between two stops or kills, about: a step is a write, or some reads at the same time. */
const stepsEach = isLong ? 100 : 150
const timeout = runs * operations * 1_000

tap.setTimeout(timeout)

/** One directory with its server, and the collections that it must have. */
interface Life {
  readonly random: Random
  readonly dataDir: string
  model: Model
  server: ServerProcess
  threads: number
  client: Client
  readonly counts: {
    writes: number
    reads: number
    stops: number
    kills: number
    killedWrites: number
    /** Replies that serving threads sent themselves, after the last starts. */
    threadReplies: number
  }
}

for (let run = 0; run < runs; run++) {
  const own = seed + run
  test(`a server replies like the model, seed ${own}`, { timeout }, async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'annal-http-model-'))
    const life = await beginLife(dataDir, own)
    t.teardown(async () => {
      await life.server.kill()
      await rm(dataDir, { recursive: true })
    })
    const { counts } = life
    while (counts.writes + counts.reads < operations) await live(life)
    // Of two starts in a row, at least one has several threads.
    for (const how of ['kill', 'stop'] as const) {
      await restart(life, how)
      for (let i = 0; i < 10; i++) await readSome(life)
      counts.threadReplies += await threadReplies(life.server)
    }
    await life.server.stop()
    t.comment(JSON.stringify({ seed: own, ...counts }))
    // About 54 of 300 are writes, with a standard deviation of 7.
    t.ok(counts.writes > operations / 16 && counts.reads > operations / 4, 'there were writes and reads')
    t.ok(counts.threadReplies > 0, 'serving threads replied themselves')
  })
}

async function beginLife(dataDir: string, own: number): Promise<Life> {
  const random = seededRandom(own)
  const threads = 1 + (own % 3)
  const server = await startServer({ dataDir, threads, environment })
  const counts = { writes: 0, reads: 0, stops: 0, kills: 0, killedWrites: 0, threadReplies: 0 }
  const life = { random, dataDir, model: new Model(), server, threads, client: clientOf(server), counts }
  for (const write of firstWrites(random)) await make(life, write)
  return life
}

/** A call that a kill interrupts fails at once. Others may take long, because the machine may be busy. */
function clientOf({ url }: ServerProcess): Client {
  return connect({ url, retriesMax: 0, timeoutMs: timeout, fetch: fetchAgain })
}

/**
 * Sends a request again that arrived too late to be read, or whose connection the server had closed because it was idle: both happen if this
 * process was stopped for some seconds. If the server had done something, the second reply would show it.
 */
async function fetchAgain(...request: Parameters<typeof fetch>): Promise<Response> {
  for (;;) {
    const response = await fetch(...request).catch(ignoreReset)
    if (response !== undefined && response.status !== 408) return response
  }
}

function ignoreReset(error: Error): undefined {
  const code = (error.cause as { readonly code?: string } | undefined)?.code
  if (!['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code ?? '')) throw error
}

async function live(life: Life): Promise<void> {
  const { random } = life
  if (random.below(stepsEach) === 0) return restart(life, random.chance(0.5) ? 'stop' : 'kill')
  if (random.below(stepsEach) === 0) return killDuring(life, chosenWrite(random, life.model))
  if (random.chance(0.4)) return make(life, chosenWrite(random, life.model))
  return readSome(life)
}

async function readSome({ random, counts, client, model }: Life): Promise<void> {
  const reads = list(random, { least: 1, most: 5 }, () => chosenRead(random, model))
  counts.reads += reads.length
  await Promise.all(reads.map((read) => named(read.label, () => read.run(client, model))))
}

async function make(life: Life, write: Write): Promise<void> {
  life.counts.writes++
  await named(write.label, async () => compareOutcome(write, await outcomeOf(write, life.client), life.model))
}

async function named(label: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    throw new Error(label, { cause: error })
  }
}

/** What the caller learns: a value, or the code of an error of the server. */
async function outcomeOf(write: Write, client: Client): Promise<unknown> {
  try {
    return await write.send(client)
  } catch (error) {
    if (error instanceof AnnalError) return error.code
    throw error
  }
}

function compareOutcome(write: Write, outcome: unknown, model: Model): void {
  const expected = write.apply(model)
  check(outcome === expected, `replied ${outcome}, expected ${expected}`)
}

/** Stops or kills the server, and starts it with another number of serving threads. Everything acknowledged is there again. */
async function restart(life: Life, how: 'stop' | 'kill'): Promise<void> {
  life.counts[`${how}s`]++
  await life.server[how]()
  await start(life)
  await named(`after a ${how}`, () => compareAll(life.client, life.model))
}

async function threadReplies({ url }: ServerProcess): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const counts = [...metrics.matchAll(/^annal_thread_requests_total\{[^}]*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

async function start(life: Life): Promise<void> {
  life.threads = 1 + ((life.threads + life.random.below(2)) % 3)
  life.server = await startServer({ ...life, environment })
  life.client = clientOf(life.server)
}

/** Kills the server while it handles the write, or shortly before or after. */
async function killDuring(life: Life, write: Write): Promise<void> {
  const { random, counts } = life
  counts.killedWrites++
  const outcome = outcomeOf(write, life.client)
  await sleep(random.below(6))
  await life.server.kill()
  const learned = await outcome
  await start(life)
  await named(`after a kill during ${write.label}`, async () => {
    const after = life.model.copy()
    const expected = write.apply(after)
    if (learned !== 'unreachable') {
      check(learned === expected, `replied ${learned}, expected ${expected}`)
      life.model = after
      return compareAll(life.client, after)
    }
    // Without a reply, the write is stored completely or not at all.
    try {
      await compareAll(life.client, after)
      life.model = after
    } catch {
      await compareAll(life.client, life.model)
    }
  })
}
