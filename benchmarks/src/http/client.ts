// A client as a process: opens connections, and sends prepared requests over them in a closed or an open loop. It never polls, and it takes
// as little CPU time as Node.js permits, because it shares the cores with the server.
import { Worker } from 'node:worker_threads'
import type { ClientReply, ClientWork, Counted, OpenWork, RunWork } from './client-work.ts'
import { type Connection, openConnection } from './connection.ts'
import { isLastReply, statusOf } from './framing.ts'
import { createHistogram, record } from './histogram.ts'
import type { MetronomeWork } from './metronome.ts'
import { createSchedule, nowMs } from './schedule.ts'

/** Servers close a connection after 1,000 requests; this client stops earlier. */
const requestsPerConnection = 900
/** Servers reject requests above a number in flight. Above this one, the connections of a closed loop take turns. */
const inFlightMax = 200
const samplesMax = 2_000
/** An open loop starts after this time, in which the thread that wakes it starts. */
const metronomeStartMs = 200

interface Session {
  readonly work: OpenWork
  readonly connections: Connection[]
  /** Replaced by each run. */
  handle: (connection: Connection, reply: Buffer | undefined) => void
  next: number
}

let metronome: Worker | undefined
let session: Session | undefined
let endRun: (() => void) | undefined

process.on('message', (work: ClientWork) => {
  if (work.kind === 'end') endRun?.()
  else perform(work).then(send, (error: Error) => send({ kind: 'failed', message: error.message }))
})
process.on('disconnect', () => process.exit())

function send(reply: ClientReply): void {
  process.send?.(reply)
}

async function perform(work: OpenWork | RunWork): Promise<ClientReply> {
  if (work.kind === 'run') return { kind: 'counted', counted: await run(work) }
  for (const connection of session?.connections ?? []) connection.close()
  session = await open(work)
  return { kind: 'opened' }
}

async function open(work: OpenWork): Promise<Session> {
  const opened: Session = { work, connections: [], handle: () => undefined, next: work.first }
  const events = {
    onReply: (connection: Connection, reply: Buffer) => opened.handle(connection, reply),
    onLost: (connection: Connection) => opened.handle(connection, undefined),
  }
  for (let attempts = 0; opened.connections.length < work.connections; attempts++) {
    if (attempts > 20 * work.connections) throw new Error('the server closes every connection after its first replies')
    const connection = await openConnection(work.target, events)
    if (await keepsOpen(connection, opened)) opened.connections.push(connection)
    else connection.close()
  }
  return opened
}

/**
 * Whether the connection is open after two replies. A server with several threads may close a new connection after the first reply, so that
 * the client connects to another thread.
 */
async function keepsOpen(connection: Connection, opened: Session): Promise<boolean> {
  const { requests } = opened.work
  for (let i = 0; i < 2; i++) {
    const replied = new Promise<boolean>((resolve, reject) => {
      opened.handle = (from, reply) => {
        if (from !== connection) return
        if (reply !== undefined && statusOf(reply) === 200) resolve(!isLastReply(reply))
        else reject(new Error(`reply ${i + 1}: ${reply?.toString() ?? 'none, the connection was closed'}`))
      }
    })
    connection.send(requests[opened.next++ % requests.length]!)
    if (!(await replied)) return false
  }
  return true
}

function run(work: RunWork): Promise<Counted> {
  if (session === undefined) throw new Error('no connection is open')
  return work.schedule === undefined ? runClosed(session, work) : runOpen(session, work, work.schedule)
}

/** What both loops count. */
class Counts {
  readonly #histogram = createHistogram()
  readonly #samples: [number, Uint8Array][] = []
  readonly #begun: number
  readonly #cpu = process.cpuUsage()
  readonly #sampleEvery: number
  replies = 0
  failures = 0
  late = 0

  constructor({ sampleEvery }: RunWork, begunMs = nowMs()) {
    this.#sampleEvery = sampleEvery
    this.#begun = begunMs
  }

  add(request: number, reply: Buffer, latencyMs: number): void {
    record(this.#histogram, latencyMs)
    this.replies += 1
    if (statusOf(reply) !== 200) this.failures += 1
    else if (this.replies % this.#sampleEvery === 0 && this.#samples.length < samplesMax)
      this.#samples.push([request, Uint8Array.from(reply)])
  }

  result(): Counted {
    const { user, system } = process.cpuUsage(this.#cpu)
    return {
      replies: this.replies,
      failures: this.failures,
      seconds: (nowMs() - this.#begun) / 1_000,
      latencies: this.#histogram.counts,
      lateMs: this.late / Math.max(1, this.replies),
      cpuMs: (user + system) / 1_000,
      samples: this.#samples,
    }
  }
}

interface Sent {
  readonly index: number
  readonly dueMs: number
}

function runClosed(session: Session, work: RunWork): Promise<Counted> {
  const { requests } = session.work
  const counts = new Counts(work)
  const deadline = nowMs() + work.seconds * 1_000
  const requestsMax = work.requests ?? Number.POSITIVE_INFINITY
  let started = 0
  const sent = new Map<Connection, Sent>()
  const idle = [...session.connections]
  let isOver = false
  return new Promise((resolve) => {
    const end = (): void => {
      if (isOver) return
      isOver = true
      resolve(counts.result())
    }
    const sendNext = (now: number): void => {
      const connection = idle.shift()
      if (connection === undefined) return
      if (connection.sent >= requestsPerConnection || now >= deadline || counts.replies >= requestsMax) end()
      if (isOver || started >= requestsMax) return
      started += 1
      const index = session.next++ % requests.length
      sent.set(connection, { index, dueMs: now })
      connection.send(requests[index]!)
    }
    session.handle = (connection, reply) => {
      const before = sent.get(connection)
      if (isOver || before === undefined) return
      const now = nowMs()
      if (reply === undefined) counts.failures += 1
      else {
        counts.add(before.index, reply, now - before.dueMs)
        idle.push(connection)
      }
      sendNext(now)
    }
    endRun = end
    const now = nowMs()
    for (let i = 0; i < Math.min(inFlightMax, session.connections.length); i++) sendNext(now)
  })
}

function runOpen(session: Session, work: RunWork, schedule: NonNullable<RunWork['schedule']>): Promise<Counted> {
  const { requests } = session.work
  const startMs = nowMs() + metronomeStartMs
  const counts = new Counts(work, startMs)
  const idle = [...session.connections]
  const waiting: Sent[] = []
  const sent = new Map<Connection, Sent>()
  const nextDue = createSchedule(schedule)
  const stop = new Int32Array(new SharedArrayBuffer(4))
  metronome ??= new Worker(new URL('metronome.ts', import.meta.url))
  const wakes = metronome
  wakes.postMessage({ schedule, startMs, stop } satisfies MetronomeWork)
  let due = startMs + nextDue()
  return new Promise((resolve) => {
    const sendWaiting = (): void => {
      while (waiting.length > 0 && idle.length > 0) {
        const connection = idle.shift()!
        const one = waiting.shift()!
        sent.set(connection, one)
        connection.send(requests[one.index]!)
      }
      // Connections that are used up or lost may leave requests waiting, which then count as failures.
      const isDone = sent.size === 0 && (waiting.length === 0 ? due === Number.POSITIVE_INFINITY : idle.length === 0)
      if (!isDone) return
      counts.failures += waiting.length
      Atomics.store(stop, 0, 1)
      Atomics.notify(stop, 0)
      wakes.removeAllListeners('message')
      resolve(counts.result())
    }
    session.handle = (connection, reply) => {
      const before = sent.get(connection)
      if (before === undefined) return
      sent.delete(connection)
      if (reply === undefined) counts.failures += 1
      else counts.add(before.index, reply, nowMs() - before.dueMs)
      if (reply !== undefined && connection.sent < requestsPerConnection) idle.push(connection)
      sendWaiting()
    }
    const isUsedUp = (): boolean =>
      session.connections.reduce((left, { sent }) => left + requestsPerConnection - sent, -waiting.length) <= 0
    wakes.on('message', () => {
      const now = nowMs()
      for (; due <= now; due = startMs + nextDue()) {
        if (due - startMs >= work.seconds * 1_000 || isUsedUp()) {
          due = Number.POSITIVE_INFINITY
          break
        }
        counts.late += now - due
        waiting.push({ index: session.next++ % requests.length, dueMs: due })
      }
      sendWaiting()
    })
  })
}
