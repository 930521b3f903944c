// The client processes of a benchmark. Runs begin in all of them together and end together.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ClientReply, ClientWork, Counted, OpenWork, RunWork } from './client-work.ts'
import { type Histogram, merge } from './histogram.ts'

export interface Clients {
  /** Divides the connections among the processes. */
  open(work: Omit<OpenWork, 'kind' | 'first'>): Promise<void>
  run(work: Omit<RunWork, 'kind'>): Promise<CountedByAll>
  /** Ends the current run. */
  end(): void
  stop(): void
}

export interface CountedByAll extends Omit<Counted, 'latencies' | 'seconds'> {
  readonly perSecond: number
  readonly latencies: Histogram
}

export function startClients(processes: number): Clients {
  const children = Array.from({ length: processes }, startClient)
  let active: Client[] = []
  return {
    async open({ connections, ...work }) {
      active = children.slice(0, Math.min(processes, connections))
      const share = (i: number): number => Math.floor((connections + i) / active.length)
      await all(
        active.map((client, i) =>
          client.ask({
            ...work,
            kind: 'open',
            connections: share(i),
            first: Math.floor((i * work.requests.length) / active.length),
          }),
        ),
      )
    },
    async run(work) {
      const { schedule, requests } = work
      const replies = active.map(async (client, i) => {
        const own = schedule && { perSecond: schedule.perSecond / active.length, seed: schedule.seed + i }
        const limit = requests && { requests: Math.ceil(requests / active.length) }
        const reply = await client.ask({ ...work, kind: 'run', ...(own && { schedule: own }), ...limit })
        // In a closed loop the first process that ends does so for all, because the others would have the server for themselves.
        if (schedule === undefined && requests === undefined)
          for (const other of active) if (other !== client) other.post({ kind: 'end' })
        return reply
      })
      return addUp((await all(replies)).map((reply) => (reply as ClientReply & { kind: 'counted' }).counted))
    },
    end() {
      for (const client of active) client.post({ kind: 'end' })
    },
    stop() {
      for (const client of children) client.stop()
    },
  }
}

/** Like Promise.all, but rejects only after every process has replied, so that a late reply is not taken for that to the next work. */
async function all<T>(replies: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(replies)
  return Promise.all(replies)
}

function addUp(counted: readonly Counted[]): CountedByAll {
  const sum = (value: (one: Counted) => number): number => counted.reduce((total, one) => total + value(one), 0)
  const replies = sum((one) => one.replies)
  return {
    replies,
    failures: sum((one) => one.failures),
    perSecond: sum((one) => one.replies / one.seconds),
    latencies: merge(counted.map(({ latencies }) => ({ counts: latencies }))),
    lateMs: sum((one) => one.lateMs * one.replies) / Math.max(1, replies),
    cpuMs: sum((one) => one.cpuMs),
    samples: counted.flatMap(({ samples }) => samples),
  }
}

interface Client {
  ask(work: ClientWork): Promise<ClientReply>
  post(work: ClientWork): void
  stop(): void
}

function startClient(): Client {
  const child: ChildProcess = fork(fileURLToPath(new URL('client.ts', import.meta.url)), { serialization: 'advanced' })
  return {
    post: (work) => void child.send(work),
    stop: () => child.disconnect(),
    ask: (work) =>
      new Promise((resolve, reject) => {
        const onExit = (): void => reject(new Error('a client process exited'))
        child.once('exit', onExit)
        child.once('message', (reply: ClientReply) => {
          child.off('exit', onExit)
          if (reply.kind === 'failed') reject(new Error(`a client: ${reply.message}`))
          else resolve(reply)
        })
        child.send(work)
      }),
  }
}
