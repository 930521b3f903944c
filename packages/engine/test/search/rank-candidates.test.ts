// Candidates ordered by original vectors: the best are those of comparing all candidates, in the thread of the search and by handed-over
// reads, and a wrong row on disk is reported.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { nodeVfs, type Vfs } from '@annal/wal'
import { type Test, test } from 'tap'
import type { SpaceType } from '../../src/model/schema.ts'
import { Originals } from '../../src/originals/originals.ts'
import { CandidateRanking } from '../../src/search/candidate-ranking.ts'
import { rankCandidates as rank } from '../../src/search/rank-candidates.ts'
import { type RankOptions, rankOriginals, vectorsOf } from '../../src/search/rank-originals.ts'
import type { Best } from '../../src/search/ranking.ts'
import { compileKernel } from '../../src/vector/dense/kernel.ts'
import { comparerOf } from '../../src/vector/dense/original-comparer.ts'
import { clusteredRows, createRandom, normalize } from '../vector/world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const spaces = ['cosine', 'l2', 'ip'] as const
const dimension = 24
const n = 400
const kernel = await compileKernel()

const rankCandidates = (candidates: Best, originals: Originals, options: RankOptions, query: Float32Array) =>
  rank(candidates, originals, options, query, comparerOf(kernel))

/** A disk whose files can only be read by waiting for a callback. */
function withoutReadNow(vfs: Vfs): Vfs {
  return {
    ...vfs,
    async open(path, mode) {
      const { readNow: _, ...file } = await vfs.open(path, mode)
      return file
    },
  }
}

async function openOriginals(t: Test, vfs: Vfs, rows: Float32Array) {
  const dir = await mkdtemp(join(tmpdir(), 'annal-candidates-'))
  const place = { vfs, dir, directory: () => '00000000-0000-4000-8000-000000000001' }
  const originals = new Originals(place, { collectionId: 1, generation: 0, field: 0, dimension, several: false })
  t.teardown(async () => {
    await originals.close()
    await rm(dir, { recursive: true })
  })
  await originals.prepare(n)
  await originals.append(
    Uint32Array.from({ length: n }, (_, i) => i),
    rows,
  )
  return { originals, path: join(dir, originals.names()[0] as string) }
}

function rowsOf(space: SpaceType): Float32Array {
  const rows = clusteredRows(n, dimension, seed, 8)
  if (space === 'cosine') normalize(rows, dimension)
  return rows
}

/** Candidates by similarities with an error of at most `error`, best first. */
function estimated(all: Best, error: number, random: () => number): Best {
  const noisy = Array.from(all.ordinals, (ordinal, i) => ({
    ordinal,
    estimate: (all.similarities[i] as number) + (2 * random() - 1) * error,
  })).sort((a, b) => b.estimate - a.estimate)
  return {
    ordinals: Uint32Array.from(noisy, ({ ordinal }) => ordinal),
    similarities: Float32Array.from(noisy, ({ estimate }) => estimate),
  }
}

for (const space of spaces)
  test(`${space}: the best of the candidates, and few of them are read (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const rows = rowsOf(space)
    const here = await openOriginals(t, nodeVfs(), rows)
    const handedOver = await openOriginals(t, withoutReadNow(nodeVfs()), rows)
    let [compared, missed, results] = [0, 0, 0]
    for (let round = 0; round < 60; round++) {
      const query = rows.slice(round * dimension, (round + 1) * dimension).map((x) => x + 0.02 * (random() - 0.5))
      if (space === 'cosine') normalize(query, dimension)
      const k = 1 + Math.floor(random() * 20)
      const definition = { params: { dimension, spaceType: space } }
      const ordinals = Uint32Array.from({ length: n }, (_, i) => i)
      const source = vectorsOf(here.originals, dimension)
      const all = await rankOriginals(ordinals, source, { k: n, definition }, query)
      const spread = (all.similarities[0] as number) - (all.similarities[100] as number)
      const candidates = estimated(all, random() < 0.2 ? 0 : spread * 0.05, random)
      const threshold = random() < 0.3 ? all.similarities[Math.floor(random() * 30)] : undefined
      const options = { k, definition, ...(threshold !== undefined && { scoreThreshold: threshold }) }
      const found = await rankCandidates(candidates, here.originals, options, query)
      const expected = await rankOriginals(ordinals, source, options, query)
      t.strictSame(await rankCandidates(candidates, handedOver.originals, options, query), found)
      for (const [i, ordinal] of found.ordinals.entries()) {
        const exact = all.similarities[all.ordinals.indexOf(ordinal)]
        if (found.similarities[i] !== exact) t.fail(`${ordinal} has ${exact}, reported as ${found.similarities[i]}`)
      }
      missed += expected.ordinals.filter((ordinal) => !found.ordinals.includes(ordinal)).length
      results += expected.ordinals.length
      compared += found.compared
    }
    // The bound is a multiple of the deviation of ten errors and more, which rarely is much too small.
    t.ok(missed <= results / 500, `${missed} of ${results} missed`)
    t.ok(compared < (60 * n) / 4, `${compared / 60} of ${n} candidates compared`)
  })

/** A disk that answers reads later, in another order, and keeps the buffers that they were given. */
function withSlowReads(vfs: Vfs, random: () => number, used: Set<ArrayBufferLike>): Vfs {
  return {
    ...vfs,
    async open(path, mode) {
      const { readNow: _, ...file } = await vfs.open(path, mode)
      const read: typeof file.read = async (bytes, position) => {
        used.add(bytes.buffer)
        await setTimeout(3 * random())
        return file.read(bytes, position)
      }
      return { ...file, read }
    },
  }
}

test(`handed-over reads of searches at the same time share few buffers (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const rows = rowsOf('l2')
  const here = await openOriginals(t, nodeVfs(), rows)
  const used = new Set<ArrayBufferLike>()
  const slow = await openOriginals(t, withSlowReads(nodeVfs(), random, used), rows)
  used.clear()
  const callers = 4
  const definition = { params: { dimension, spaceType: 'l2' as const } }
  const ordinals = Uint32Array.from({ length: n }, (_, i) => i)
  const searchOf = async (first: number) => {
    for (let i = first; i < first + 8; i++) {
      const query = rows.slice(i * dimension, (i + 1) * dimension)
      const candidates = { ordinals, similarities: new Float32Array(n) }
      const expected = await rankCandidates(candidates, here.originals, { k: 10, definition }, query)
      t.strictSame(await rankCandidates(candidates, slow.originals, { k: 10, definition }, query), expected)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, i) => searchOf(8 * i)))
  t.ok(used.size <= callers, `${used.size} buffers`)
})

test('no candidates, fewer than k, and a threshold that nothing reaches', async (t) => {
  const rows = rowsOf('l2')
  const { originals } = await openOriginals(t, nodeVfs(), rows)
  const definition = { params: { dimension, spaceType: 'l2' as const } }
  const query = rows.slice(0, dimension)
  const none = { ordinals: new Uint32Array(0), similarities: new Float32Array(0) }
  t.match(await rankCandidates(none, originals, { k: 5, definition }, query), { compared: 0 })
  const three = { ordinals: Uint32Array.of(0, 1, 2), similarities: Float32Array.of(0, -1, -2) }
  const found = await rankCandidates(three, originals, { k: 5, definition }, query)
  t.equal(found.ordinals.length, 3)
  t.equal(found.similarities[0], -0)
  t.equal((await rankCandidates(three, originals, { k: 5, definition, scoreThreshold: 1 }, query)).ordinals.length, 0)
})

test('a row that is wrong on disk fails the search', async (t) => {
  const rows = rowsOf('l2')
  for (const vfs of [nodeVfs(), withoutReadNow(nodeVfs())]) {
    const { originals, path } = await openOriginals(t, vfs, rows)
    const bytes = await readFile(path)
    const offset = 64 + 7 * (4 * dimension + 8) + 5
    bytes[offset] = (bytes[offset] as number) ^ 1
    await writeFile(path, bytes)
    const definition = { params: { dimension, spaceType: 'l2' as const } }
    const three = { ordinals: Uint32Array.of(6, 7, 9), similarities: Float32Array.of(0, -1, -2) }
    await t.rejects(rankCandidates(three, originals, { k: 2, definition }, rows.slice(0, dimension)), {
      code: 'snapshot_damaged',
    })
  }
})

test('candidates in the order of errors are unresolved, also if others are far behind them', (t) => {
  const random = createRandom(seed)
  const size = 40
  // Estimates of distances that are smaller than their errors are on both sides of 0.
  const near = Array.from({ length: size }, () => ({ exact: -0.01 * random(), estimate: 0.2 * (random() - 0.5) }))
  const far = Array.from({ length: 20 }, () => ({ exact: -80 - random(), estimate: -70 - random() }))
  near.sort((a, b) => b.estimate - a.estimate)
  far.sort((a, b) => b.estimate - a.estimate)
  for (const [rows, isUnresolved] of [
    [[...near, ...far], true],
    [near, true],
    [near.map(({ exact }) => ({ exact, estimate: exact })), false],
    [near.map(({ estimate }) => ({ exact: 0, estimate })), false],
  ] as const) {
    const ordinals = Uint32Array.from(rows.keys())
    const similarities = Float32Array.from(rows, ({ estimate }) => estimate)
    const ranking = new CandidateRanking({ ordinals, similarities }, { k: 10 })
    while (!ranking.isDone) ranking.put(rows[ranking.next]?.exact ?? 0)
    t.equal(ranking.isUnresolved, isUnresolved)
    if (!isUnresolved) continue
    t.equal(ranking.next, size, 'all near ones are compared')
    const best = rows.map(({ exact }) => Math.fround(exact)).sort((a, b) => b - a)
    t.strictSame([...ranking.result().similarities], best.slice(0, 10))
  }
  t.end()
})
