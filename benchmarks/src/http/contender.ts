// A server that is measured: a process that the benchmark starts, or one that already runs at an address and speaks the same protocol.
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { sendInTurn, type Target } from './connection.ts'
import type { Corpus } from './corpus.ts'
import { createRequest, insertRequest, type Sender } from './requests.ts'
import { type BenchedServer, startServer } from './server-process.ts'

export interface ContenderPlan {
  readonly name: string
  /** A server that already runs; none is started. */
  readonly url?: URL
  readonly token?: string
  readonly checkout?: string
  readonly threads?: number
  readonly profileDir?: string
  readonly environment?: Readonly<Record<string, string>>
}

export interface Contender {
  readonly name: string
  readonly target: Target
  readonly sender: Sender
  /** Undefined for a server that was not started here. */
  readonly server: BenchedServer | undefined
  stop(): Promise<void>
}

const batch = 1_000

export async function startContender(plan: ContenderPlan, dir: string): Promise<Contender> {
  const dataDir = directoryOf(plan, dir)
  if (plan.url === undefined) await mkdir(dataDir, { recursive: true })
  const server = plan.url === undefined ? await startServer({ ...plan, dataDir }) : undefined
  const { hostname, port } = plan.url ?? { hostname: '127.0.0.1', port: server?.port }
  const host = hostname.replace(/^\[|\]$/g, '')
  return {
    name: plan.name,
    target: { host, port: Number(port) || 80 },
    sender: {
      headers: [`Host: ${hostname}:${port}`, ...(plan.token === undefined ? [] : [`Authorization: ${plan.token}`])],
    },
    server,
    stop: async () => server?.stop(),
  }
}

export function directoryOf({ name }: ContenderPlan, dir: string): string {
  return path.join(dir, name.replaceAll(/[^\w.-]+/g, '-'))
}

/** Loads the corpus unless the server has it. Returns the seconds of CPU and of the clock that the load took. */
export async function fill(
  { target, sender, server }: Contender,
  corpus: Corpus,
): Promise<{ readonly cpuSeconds: number; readonly seconds: number } | undefined> {
  const { name, dimension, space, base, terms } = corpus
  const authorization = sender.headers.find((header) => header.startsWith('Authorization: '))?.slice(15)
  const url = `http://${target.host}:${target.port}/api/v1/index/${name}/info`
  const info = await fetch(url, authorization === undefined ? {} : { headers: { authorization } })
  if (info.status === 200) return undefined
  const requests = Array.from({ length: base.length / dimension / batch }, (_, i) => {
    const rows = base.subarray(i * batch * dimension, (i + 1) * batch * dimension)
    return insertRequest(sender, name, { rows, dimension, first: i * batch, terms: terms?.rows })
  })
  const before = await server?.cpu()
  const begun = performance.now()
  await sendInTurn(target, [
    createRequest(sender, { name, dimension, space, hasTerms: terms !== undefined }),
    ...requests,
  ])
  const after = await server?.cpu()
  const sum = (times: typeof before): number => [...(times?.values() ?? [])].reduce((total, ms) => total + ms, 0)
  return { cpuSeconds: (sum(after) - sum(before)) / 1_000, seconds: (performance.now() - begun) / 1_000 }
}
