// A reader of race.test.ts: searches without pause, checks what it can check alone, and reports a sample.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { attachReader, type HitBytes, type ReaderSearch } from '@annal/engine/reader'
import { createRandom } from '../vector/world.ts'
import { limit, type ReaderReport, type Record, sharedWords, vectorOf } from './race-world.ts'

const shared: Int32Array = workerData.shared
const random = createRandom(workerData.seed)
const reader = await attachReader(workerData.reader)
const whole = (below: number) => Math.floor(random() * below)

let records: Record[] = []
let faults: string[] = []
let searches = 0
let left = 0

interface Copied {
  readonly lsn: number
  readonly hits: readonly {
    readonly id: string
    readonly meta: string
    readonly filter: string
    readonly similarity: number
  }[]
}

function copy(hits: HitBytes): Copied {
  const text = (bytes: number, into: (target: Uint8Array) => void) => {
    const target = Buffer.alloc(bytes)
    into(target)
    return target.toString()
  }
  return {
    lsn: hits.lsn,
    hits: Array.from({ length: hits.count }, (_, hit) => ({
      id: text(hits.idBytes(hit), (target) => hits.copyId(hit, target, 0)),
      meta: text(hits.metaBytes(hit), (target) => hits.copyMeta(hit, target, 0)),
      filter: text(hits.filterBytes(hit), (target) => hits.copyFilter(hit, target, 0)),
      similarity: hits.similarity(hit),
    })),
  }
}

async function searchThings(): Promise<void> {
  const object = whole(1 + whole(workerData.objectsMax))
  const stamp = 1 + whole(3)
  const third = whole(4) === 0 ? whole(3) : undefined
  const query = vectorOf(object, stamp)
  const acknowledged = Atomics.load(shared, sharedWords.acknowledged)
  const search: ReaderSearch = { field: 'v', query, limit, ef: 16 + whole(100) }
  const things = reader.collection('default', 'things')
  if (things === undefined) {
    faults.push('there is no collection things')
    return
  }
  const filter = third === undefined ? {} : { filter: [{ third: { $eq: third } }] }
  const found = await things.searchHere({ ...search, ...filter }, copy)
  searches++
  if (found === undefined) {
    left++
    return
  }
  if (found.lsn < acknowledged) faults.push(`LSN ${found.lsn} after ${acknowledged} was acknowledged`)
  const hits = found.hits.map(({ id, meta, filter: text, similarity }) => {
    const facts = JSON.parse(meta)
    if (id !== `thing-${facts.object}`) faults.push(`${id} has the meta ${meta}`)
    const distance = squaredDistance(query, vectorOf(facts.object, facts.stamp))
    if (Math.abs(distance + similarity) > 1e-4)
      faults.push(`${id} ${meta}: similarity ${similarity}, distance ${distance}`)
    return { object: facts.object, stamp: facts.stamp, third: JSON.parse(text).third, similarity }
  })
  if (hits.some((hit, i) => hit.similarity > (hits[i - 1]?.similarity ?? 0))) faults.push('hits are out of order')
  if (searches % 8 === 0) records.push({ acknowledged, lsn: found.lsn, third, object, stamp, hits })
}

async function searchTemporary(): Promise<void> {
  const deleted = Atomics.load(shared, sharedWords.deleted)
  const query = vectorOf(whole(50), 1)
  const found = await reader.collection('default', 'temporary')?.searchHere({ field: 'v', query, limit, ef: 20 }, copy)
  searches++
  for (const { meta } of found?.hits ?? []) {
    const { number } = JSON.parse(meta)
    if (number <= deleted) faults.push(`collection ${number} was found after ${deleted} were deleted`)
  }
  const numbers = new Set(found?.hits.map(({ meta }) => JSON.parse(meta).number))
  if (numbers.size > 1) faults.push(`hits of collections ${[...numbers]}`)
}

function squaredDistance(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)
}

function report(): void {
  parentPort?.postMessage({ records, faults, searches, left } satisfies ReaderReport)
  ;[records, faults, searches, left] = [[], [], 0, 0]
}

parentPort?.postMessage({ records: [], faults: [], searches: 0, left: 0 } satisfies ReaderReport)
while (Atomics.load(shared, sharedWords.stop) === 0) {
  try {
    for (let i = 0; i < 64; i++) await (whole(8) === 0 ? searchTemporary() : searchThings())
  } catch (error) {
    faults.push(String((error as Error).stack))
  }
  if (searches >= 1024 || faults.length > 0) report()
  await nextTurn()
}
report()
process.exit()
