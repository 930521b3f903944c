// The walk of a filter returns the rows that the reference returns, for random rows, metrics, filters, and directions of the allowed rows.
// Half of the fields have copies of rows. ANNAL_SEED chooses the cases, and ANNAL_LONG=1 runs more.
import { type Test, test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import type { SpaceType } from '../../src/model/schema.ts'
import { header, none } from '../../src/vector/dense/header.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { levelOf } from '../../src/vector/dense/level.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, createRandom, definitionOf, normalize } from '../vector/world.ts'
import { listsOf } from './lists-of.ts'
import { type FilteredGraph, walkAllowed } from './reference-filtered.ts'

const seed = Number(process.env.ANNAL_SEED ?? 59)
const isLong = process.env.ANNAL_LONG !== undefined

interface WorldSeed {
  readonly world: number
  readonly hasCopies: boolean
}
/** Worlds in which kernel and reference once differed. */
const knownWorlds: readonly WorldSeed[] = [
  // Rows of two components on a circle that a walk cannot distinguish.
  { world: 778439508, hasCopies: false },
  { world: 3024325817, hasCopies: false },
  // Copies in a field of float32 rows. Their keys differed in the last bit.
  { world: 4146823847, hasCopies: true },
  { world: 2652214595, hasCopies: true },
  { world: 479316038, hasCopies: true },
]

interface World {
  readonly segment: Segment
  readonly vectors: Float32Array
  readonly lists: readonly (readonly (readonly number[])[])[]
  /** The node of each row, undefined if it follows none, and the rows of each node in the order of their ordinals. */
  readonly nodes: readonly (number | undefined)[]
  readonly rowsOf: ReadonlyMap<number, readonly number[]>
}

async function openWorld(pool: WorkerPool, random: () => number, hasCopies: boolean): Promise<World> {
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const dimension = between(2, 24)
  const n = between(100, 900)
  const spaceType = (['l2', 'ip', 'cosine'] satisfies SpaceType[])[between(0, 2)] ?? 'l2'
  const { params } = definitionOf({
    dimension,
    spaceType,
    M: between(3, 6),
    efConstruction: 24,
    precision: 'int8',
    rules: 2,
  })
  const vectors = clusteredRows(n, dimension, between(1, 1e9), between(1, 12))
  if (spaceType === 'cosine') normalize(vectors, dimension)
  if (hasCopies) copyRows(vectors, dimension, createRandom(n))
  const segment = new Segment(params, pool)
  segment.reserve(n)
  await segment.insert({
    ordinals: Uint32Array.from({ length: n }, (_, i) => i),
    births: new Uint32Array(n).fill(1),
    norms: new Float32Array(n).fill(1),
    vectors: new VectorRows(vectors, dimension),
  })
  const removed = Uint32Array.from({ length: n }, (_, i) => i).filter(() => random() < 0.05)
  await segment.remove(removed, 2)
  const { kernel } = segment.arena
  const nodes = Array.from({ length: n }, (_, row) => {
    if (kernel.isFollower(row) === 0) return row
    const leader = kernel.leaderOf(row) >>> 0
    return leader === none ? undefined : leader
  })
  const rowsOf = Map.groupBy(nodes.keys(), (row) => nodes[row] ?? -1)
  return { segment, vectors, lists: nodes.map((_, row) => listsOf(segment, row, params.M)), nodes, rowsOf }
}

/** Replaces up to half of the rows by copies of up to a tenth of them. */
function copyRows(vectors: Float32Array, dimension: number, random: () => number): void {
  const n = vectors.length / dimension
  const originals = 1 + Math.floor((random() * n) / 10)
  for (let copies = Math.floor((random() * n) / 2); copies > 0; copies--) {
    const from = Math.floor(random() * originals) * dimension
    vectors.copyWithin(Math.floor(random() * n) * dimension, from, from + dimension)
  }
}

/** The allowed rows: a share of them, any or in one direction from the query. */
function chooseAllowed({ segment }: World, keys: Float32Array, random: () => number): number[] {
  const rows = Array.from({ length: segment.end }, (_, row) => row)
  const direction = Math.floor(random() * 4)
  const key = (row: number) => keys[row] as number
  if (direction === 1) rows.sort((a, b) => key(a) - key(b))
  else if (direction === 2) rows.sort((a, b) => key(b) - key(a))
  else if (direction === 3) rows.reverse()
  else rows.sort(() => random() - 0.5)
  const share = [0.02, 0.1, 0.3, 0.5, 0.8][Math.floor(random() * 5)] as number
  return rows.slice(0, Math.max(1, Math.round(share * rows.length))).sort((a, b) => a - b)
}

function compareOnce(
  t: Test,
  world: World,
  random: () => number,
  seedOfWorld: number,
): 'far' | 'near' | 'compared' | 'other' {
  const { segment, vectors, lists, nodes, rowsOf } = world
  const { arena, params, end } = segment
  const { kernel, ownScratch } = arena
  const { dimension, M } = params
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  const from = Math.floor(random() * end) * dimension
  const query = vectors.slice(from, from + dimension).map((x) => x + (random() - 0.5) * 0.5)
  kernel.attach(arena.ownThread)
  arena.f32.fill(0, ownScratch.query / 4, ownScratch.query / 4 + arena.shape.lanes)
  arena.f32.set(query, ownScratch.query / 4)
  kernel.prepareQuery()
  arena.u32.set(
    Uint32Array.from({ length: end }, (_, row) => row),
    ownScratch.ids / 4,
  )
  kernel.keysOf(ownScratch.ids, end, ownScratch.keys)
  const keys = arena.f32.slice(ownScratch.keys / 4, ownScratch.keys / 4 + end)
  const listed = chooseAllowed(world, keys, random)
  const allowed = Bitmap.from(listed)
  const k = 1 + Math.floor(random() * 10)
  const ef = k + Math.floor(random() * 40)
  const rowsAt = (node: number) => rowsOf.get(node) ?? []
  const isVisible = (row: number) => allowed.has(row) && segment.has(row, 3)
  const graph: FilteredGraph = {
    M,
    rows: segment.rows,
    entry: arena.word(header.entry),
    levelOf: (row) => levelOf(row, M),
    list: (row, level) => lists[row]?.[level] ?? [],
    key: (row) => keys[row] as number,
    nodeOf: (row) => nodes[row],
    isAllowed: (node) => rowsAt(node).some((row) => allowed.has(row)),
    isHidden: (node) => !rowsAt(node).some(isVisible),
    allowed: listed,
    isIp: params.spaceType === 'ip',
  }
  // A filter against the query is walked, or all its rows are compared if there are few.
  const [least, perEntry] = random() < 0.5 ? [0, 0] : [between(0, 200), between(0, 4)]
  kernel.setFarComparison(least, perEntry)
  const pool = walkAllowed(graph, { k, ef, compared: least + perEntry * ef })
  if (pool === undefined) return 'other'
  const candidatesOf = (node: number): Candidate[] =>
    rowsAt(node)
      .filter(isVisible)
      .map((row) => ({ row, walked: keys[node] as number }))
  const candidates = pool === 'compared' ? pool : pool.flatMap(candidatesOf)
  if (candidates !== 'compared' && candidates.length < k) return 'other'
  const lent = arena.lendBitmap(allowed.words)
  const best = candidates === 'compared' ? undefined : bestOf(segment, candidates, { k, query })
  const expected = best?.rows ?? comparedBest(segment, k, ef, lent)
  // Everything in the pool is ranked by its row.
  const count = kernel.search(k, ef, 16_384, 3, lent.address, lent.bits)
  arena.returnBitmap(lent)
  // The walk was repeated with a larger pool.
  if (best?.isUnresolved && pool.length >= ef) return 'other'
  const answers = [...arena.u32.subarray(ownScratch.answers / 4, ownScratch.answers / 4 + count)]
  if (answers.join() !== expected.join())
    t.same(answers, expected, `world ${seedOfWorld}, ef ${ef}, ${listed.length} of ${end} rows`)
  if (pool === 'compared') return 'compared'
  return pool.length > ef ? 'far' : 'near'
}

/** A row that may be a result, and the key by which the walk found its node. */
interface Candidate {
  readonly row: number
  readonly walked: number
}

/** The results of comparing every allowed row. */
function comparedBest({ arena }: Segment, k: number, ef: number, allowed: { address: number; bits: number }): number[] {
  const { kernel, ownScratch } = arena
  const found = kernel.compare(k, ef, 3, allowed.address, allowed.bits)
  return [...arena.u32.subarray(ownScratch.answers / 4, ownScratch.answers / 4 + found)]
}

/**
 * The best `k` of the rows in the pool, which are in order of the keys of their nodes, as the kernel ranks them and ends; and whether the exact
 * keys differ by less than twice the largest error of the keys of the walk.
 */
function bestOf(
  { arena, params: { spaceType } }: Segment,
  pool: readonly Candidate[],
  { k, query }: { readonly k: number; readonly query: Float32Array },
): { readonly rows: number[]; readonly isUnresolved: boolean } {
  const f = Math.fround
  const alongCenter = spaceType === 'ip' ? productWithCenter(arena, query) : 0
  const toWalkKey = (key: number) => (spaceType === 'cosine' ? f(2 + f(2 * key)) : f(key + alongCenter))
  const best: { readonly row: number; readonly key: number }[] = []
  let error = 0
  let farthest = Number.NEGATIVE_INFINITY
  const rows = () => best.map(({ row }) => row)
  for (let from = 0; from < pool.length; from += 4) {
    const last = best[k - 1]
    const next = pool.slice(from, from + 4)
    if (from >= k && last !== undefined && (next[0]?.walked ?? 0) > f(toWalkKey(last.key) + f(2 * error)))
      return { rows: rows(), isUnresolved: false }
    for (const { row, walked } of next) {
      const key = f(arena.kernel.exactKey(row))
      error = Math.max(error, Math.abs(f(toWalkKey(key) - walked)))
      if (next.length === 4) farthest = Math.max(farthest, key)
      best.push({ row, key })
    }
    best.sort((a, b) => a.key - b.key || a.row - b.row).splice(k)
  }
  const nearest = best[0]?.key ?? 0
  return { rows: rows(), isUnresolved: pool.length >= 4 && f(toWalkKey(farthest) - toWalkKey(nearest)) < f(2 * error) }
}

/** The product of the query with the center of the field, summed like that of the kernel. */
function productWithCenter({ f32, centerAddress }: Segment['arena'], query: Float32Array): number {
  const sums = new Float32Array(4)
  for (const [i, x] of query.entries()) {
    const product = Math.fround(x * (f32[centerAddress / 4 + i] as number))
    sums[i % 4] = (sums[i % 4] as number) + product
  }
  const [a, b, c, d] = sums as unknown as [number, number, number, number]
  return Math.fround(Math.fround(a + b) + Math.fround(c + d))
}

type Counts = Record<ReturnType<typeof compareOnce>, number>

/** Compares 20 searches of the world of a seed. */
async function compareWorld(t: Test, pool: WorkerPool, { world: first, hasCopies }: WorldSeed): Promise<Counts> {
  const random = createRandom(first)
  const counts = { far: 0, near: 0, compared: 0, other: 0 }
  const world = await openWorld(pool, random, hasCopies)
  for (let query = 0; query < 20; query++) counts[compareOnce(t, world, random, first)]++
  world.segment.close()
  return counts
}

/** Continues until there were searches of all kinds, at least for so many worlds. */
async function compareWalks(t: Test, pool: WorkerPool, worlds: number, first: number): Promise<void> {
  const random = createRandom(first)
  const counts: Counts = { far: 0, near: 0, compared: 0, other: 0 }
  const hasAll = () => counts.near > worlds && Math.min(counts.far, counts.compared) > worlds / 2
  for (let i = 0; i < worlds || (!hasAll() && i < 10 * worlds); i++) {
    const world = Math.floor(random() * 2 ** 32)
    const more = await compareWorld(t, pool, { world, hasCopies: i % 2 === 1 })
    for (const kind of ['far', 'near', 'compared', 'other'] as const) counts[kind] += more[kind]
  }
  t.comment(
    `seed ${first}: ${counts.near} walks, ${counts.far} against the query, ${counts.compared} compared instead, ${counts.other} of other kinds`,
  )
  t.ok(hasAll(), 'searches of all kinds')
}

test('walks over allowed rows return what the reference returns', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  for (const known of knownWorlds) await compareWorld(t, pool, known)
  await compareWalks(t, pool, isLong ? 2_000 : 20, seed)
  await pool.close()
})

test('and so does the build without relaxed SIMD', async (t) => {
  const pool = new ThreadPool(await compileKernel('plain'), 1)
  await pool.started()
  for (const known of knownWorlds) await compareWorld(t, pool, known)
  await compareWalks(t, pool, isLong ? 500 : 5, seed + 1)
  await pool.close()
})
