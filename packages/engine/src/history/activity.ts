// Aggregates the cells of many segments into bars of one width.
import type { Activity, ActivityBucket } from '../model/history.ts'
import type { ReadSegment } from './log-book.ts'
import { addTo, type Cell, type OwnerId } from './summary.ts'

export interface ActivityWish {
  readonly fromMs?: number
  readonly toMs?: number
  readonly buckets: number
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
/** Widths that are easy to read; above the last one, whole multiples of it. */
const widths = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
]

export function activityOf(
  segments: readonly ReadSegment[],
  mine: (owner: OwnerId) => boolean,
  { fromMs = 0, toMs = Number.POSITIVE_INFINITY, buckets }: ActivityWish,
): Pick<Activity, 'buckets' | 'bucketMs'> {
  const cells: Cell[] = []
  let widthMs = second
  for (const { summary } of segments) {
    for (const cell of summary.cells) {
      if (cell.startMs + summary.widthMs <= fromMs || cell.startMs > toMs || !mine(cell.owner)) continue
      cells.push(cell)
      widthMs = Math.max(widthMs, summary.widthMs)
    }
  }
  const [first, last] = cells.reduce(
    ([first, last], { startMs }) => [Math.min(first, startMs), Math.max(last, startMs)],
    [Number.POSITIVE_INFINITY, 0],
  )
  const bucketMs = cells.length === 0 ? second : niceWidth(Math.max(widthMs, (last - first) / buckets))
  const byStart = new Map<number, { -readonly [K in keyof ActivityBucket]: ActivityBucket[K] }>()
  for (const { owner: _, ...cell } of cells) {
    const startMs = Math.floor(cell.startMs / bucketMs) * bucketMs
    const bucket = byStart.get(startMs)
    if (bucket === undefined) byStart.set(startMs, { ...cell, startMs })
    else addTo(bucket, cell)
  }
  return { bucketMs, buckets: [...byStart.values()].sort((a, b) => a.startMs - b.startMs) }
}

/** Never below the requested width, so that there is at most one bar more than requested. */
function niceWidth(ms: number): number {
  return widths.find((width) => width >= ms) ?? Math.ceil(ms / day) * day
}
