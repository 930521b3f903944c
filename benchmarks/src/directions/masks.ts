// The filters of all queries as bitmaps, and the exact answers under each. They take longer than the searches, so they can be kept.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Bitmap } from '@annal/engine/testing'
import { type Direction, QueryFilters, Rows } from './directions.ts'
import type { VectorSet } from './sets.ts'

/** Distance of the last of the nearest rows, and their number. */
export interface Truth {
  readonly last: number
  readonly most: number
}

export interface Mask {
  readonly direction: Direction
  readonly share: number
  readonly query: number
  readonly allowed: Bitmap
  readonly truth: Truth
}

export interface Prepared {
  /** Without a filter, by query. */
  readonly truths: readonly Truth[]
  /** By direction, then by share, then by query. */
  readonly masks: readonly Mask[]
}

interface Wanted {
  /** Number of the first query. */
  readonly first: number
  readonly directions: readonly Direction[]
  readonly shares: readonly number[]
  readonly k: number
}

/** `keep` is a directory for the filters of earlier runs. */
export function prepare(set: VectorSet, wanted: Wanted, keep: string | undefined): Prepared {
  const { name, metric, queries, dimension } = set
  const { first, directions, shares } = wanted
  const what = [name, metric, first, queries.length / dimension, directions.join('+'), shares.join('+')].join('-')
  const file = keep === undefined ? undefined : path.join(keep, `filters-${what}`)
  if (file !== undefined && existsSync(file)) return read(file, set)
  const prepared = compute(set, wanted)
  if (file !== undefined) write(file, prepared)
  return prepared
}

function compute(set: VectorSet, { directions, shares, k }: Wanted): Prepared {
  const rows = new Rows(set)
  const truths: Truth[] = []
  const masks: Mask[] = []
  for (let query = 0; query * set.dimension < set.queries.length; query++) {
    const vector = set.queries.subarray(query * set.dimension, (query + 1) * set.dimension)
    const filters = new QueryFilters(rows, vector, query)
    truths.push(nearest(filters.distances, filters.distances.keys(), k))
    for (const direction of directions)
      for (const share of shares) {
        const listed = filters.allowed(direction, Math.round(share * rows.n))
        const allowed = new Bitmap(rows.n)
        for (const row of listed) allowed.set(row)
        masks.push({ direction, share, query, allowed, truth: nearest(filters.distances, listed, k) })
      }
  }
  const place = ({ direction, share }: Mask) => directions.indexOf(direction) * shares.length + shares.indexOf(share)
  return { truths, masks: masks.sort((a, b) => place(a) - place(b) || a.query - b.query) }
}

function nearest(distances: Float32Array, rows: Iterable<number>, k: number): Truth {
  const best: number[] = []
  for (const row of rows) {
    const d = distances[row] as number
    if (best.length === k && d >= (best[k - 1] as number)) continue
    let place = best.length
    while (place > 0 && (best[place - 1] as number) > d) place--
    best.splice(place, 0, d)
    if (best.length > k) best.pop()
  }
  return { last: best[best.length - 1] ?? 0, most: best.length }
}

/** A line of JSON, filled with spaces to a multiple of four bytes, and the words of the bitmaps. */
function write(file: string, { truths, masks }: Prepared): void {
  const plain = JSON.stringify({
    truths,
    masks: masks.map(({ allowed, ...mask }) => ({ ...mask, count: allowed.count })),
  })
  const line = `${plain.padEnd(Math.ceil((plain.length + 1) / 4) * 4 - 1)}\n`
  const words = masks.map(({ allowed }) => Buffer.copyBytesFrom(allowed.words))
  writeFileSync(`${file}.tmp`, Buffer.concat([Buffer.from(line), ...words]))
  renameSync(`${file}.tmp`, file)
}

function read(file: string, { base, dimension }: VectorSet): Prepared {
  const bytes = readFileSync(file)
  const end = bytes.indexOf('\n') + 1
  const { truths, masks } = JSON.parse(bytes.subarray(0, end).toString()) as {
    readonly truths: Truth[]
    readonly masks: (Omit<Mask, 'allowed'> & { readonly count: number })[]
  }
  const length = Math.ceil(base.length / dimension / 32)
  return {
    truths,
    masks: masks.map(({ count, ...mask }, i) => {
      const words = new Uint32Array(new SharedArrayBuffer(length * 4))
      const from = end + i * length * 4
      new Uint8Array(words.buffer).set(bytes.subarray(from, from + length * 4))
      return { ...mask, allowed: Bitmap.over(words, count) }
    }),
  }
}
