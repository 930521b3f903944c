// Sends requests until V8 has compiled what they use. Each serving thread compiles for itself, and the optimizing compiler spreads its work over
// the first hundred thousand searches, so a measurement that begins earlier contains it.
import type { Clients } from './clients.ts'
import type { Contender } from './contender.ts'
import { compilingMs } from './server-process.ts'

export interface Warmth {
  readonly requests: number
  /** CPU time of the threads of V8 for each request of the last batch. Undefined if the server is not a process of this machine. */
  readonly compileUs: number | undefined
}

/** Requests of one batch, at most. Every batch has connections of its own, so that each thread gets some of them. */
const batch = 10_000
const connections = 16
/** The threads of V8 also collect garbage, so this never becomes 0. */
const settledUs = 2
/** Compiling has settled when this many batches in a row say so. */
const settledBatches = 2

/** Sends at least `least` requests, and ends when compiling has settled, or after `most`. */
export async function warmUp(
  { target, server }: Contender,
  { requests, clients, least, most }: WarmOptions,
): Promise<Warmth> {
  let sent = 0
  let settled = 0
  let compileUs: number | undefined
  const count = Math.min(batch, least)
  while (sent < most && (sent < least || settled < settledBatches)) {
    await clients.open({ target, connections, requests })
    const before = await server?.cpu()
    const { replies } = await clients.run({ seconds: 60, requests: count, sampleEvery: count })
    const after = await server?.cpu()
    sent += replies
    compileUs = before && after && server && (compilingMs(before, after, await server.names()) * 1_000) / replies
    settled = compileUs === undefined || compileUs <= settledUs ? settled + 1 : 0
  }
  return { requests: sent, compileUs }
}

export interface WarmOptions {
  readonly requests: readonly Buffer[]
  readonly clients: Clients
  readonly least: number
  readonly most: number
}
