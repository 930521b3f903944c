// Writes and searches one after the other while something goes on, and how long each took.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection } from '@annal/engine'
import { objectOf, vectorOf } from './objects.ts'

export interface Quantiles {
  readonly count: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface Load {
  readonly writes: Quantiles
  readonly searches: Quantiles
}

const batch = 10
const pauseMs = 5

/** How long each write and each search took. */
export interface Times {
  readonly writes: readonly number[]
  readonly searches: readonly number[]
}

/** A writer of small batches and a searcher, both until `job` is done. */
export async function loadDuring(collection: Collection, from: number, job: () => Promise<unknown>): Promise<Times> {
  let going = true
  let n = from
  const write = async () => {
    const objects = Array.from({ length: batch }, () => objectOf(n++))
    return timed(() => collection.upsert(objects))
  }
  const search = async () => {
    const query = vectorOf(Math.floor(Math.random() * from))
    return timed(() => collection.search({ fields: { v: { query, limit: 10 } } }))
  }
  const repeat = async (act: () => Promise<number>): Promise<number[]> => {
    const times: number[] = []
    while (going) {
      times.push(await act())
      await sleep(pauseMs)
    }
    return times
  }
  const running = [repeat(write), repeat(search)] as const
  await job().finally(() => {
    going = false
  })
  const [writes, searches] = await Promise.all(running)
  return { writes, searches }
}

/** Of several times the same job. */
export function loadOf(all: readonly Times[]): Load {
  return {
    writes: quantilesOf(all.flatMap(({ writes }) => writes)),
    searches: quantilesOf(all.flatMap(({ searches }) => searches)),
  }
}

export async function timed(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await act()
  return performance.now() - from
}

function quantilesOf(times: number[]): Quantiles {
  times.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    rounded(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0)
  return { count: times.length, medianMs: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) }
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
