// Measures the times of writes and searches while a job runs.
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

/** Times of each write and each search. */
export interface Times {
  readonly writes: readonly number[]
  readonly searches: readonly number[]
}

/** Runs a writer of small batches and a searcher until `job` is done. */
export async function loadDuring(collection: Collection, from: number, job: () => Promise<unknown>): Promise<Times> {
  let going = true
  let n = from
  const write = async () => {
    const objects = Array.from({ length: batch }, () => objectOf(n++))
    return measureTime(() => collection.upsert(objects))
  }
  const search = async () => {
    const query = vectorOf(Math.floor(Math.random() * from))
    return measureTime(() => collection.search({ fields: { v: { query, limit: 10 } } }))
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

/** Summary of several runs of the same job. */
export function summarizeLoad(all: readonly Times[]): Load {
  return {
    writes: quantilesOf(all.flatMap(({ writes }) => writes)),
    searches: quantilesOf(all.flatMap(({ searches }) => searches)),
  }
}

export async function measureTime(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await act()
  return performance.now() - from
}

function quantilesOf(times: number[]): Quantiles {
  times.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    roundMs(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0)
  return { count: times.length, medianMs: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) }
}

export function roundMs(value: number): number {
  return Math.round(value * 100) / 100
}
