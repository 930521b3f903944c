import { setImmediate } from 'node:timers/promises'
import { chosenSeed } from '@annal/wal/testing'
import { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { type DenseFieldSchema, type Precision, rulesNewest } from '../../src/model/schema.ts'
import { loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import type { DenseField } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'

const dimension = 24
const seed = chosenSeed()

function random(from: number): () => number {
  let state = from >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Kinds of vectors that rows are drawn from. Of few kinds most rows are copies that follow others, and succeed them when they are removed. */
const kindsOf = { 'distinct rows': undefined, 'many copies': 200 } as const
const precisions: readonly Precision[] = ['float32', 'int8', 'int16', 'float16', 'binary', 'int2', 'int4']
/** With seed 8, a row that followed another gets lists between the start of a cut and its last piece. */
const cases = precisions.flatMap((precision) =>
  Object.entries(kindsOf).flatMap(([name, kinds]) =>
    (kinds === undefined ? [seed] : [8, seed]).map((caseSeed) => ({ precision, name, kinds, seed: caseSeed })),
  ),
)

function rowOfKind(kind: number): number[] {
  const next = random(kind + 1)
  return Array.from({ length: dimension }, () => next() - 0.5)
}

for (const { precision, name, kinds, seed } of cases) {
  test(`a cut of ${precision} with ${name} equals the field at its start while rows are inserted, removed, and reused, seed ${seed}`, async (t) => {
    const rules = kinds === undefined ? 1 : rulesNewest
    const params = { dimension, spaceType: 'l2', precision, M: 8, efConstruction: 32, rules } as const
    const definition: DenseFieldSchema = { kind: 'dense', name: 'v', params }
    const pool = await openWorkerPool({ threads: 2 })
    t.teardown(() => pool.close())
    // With heads they have them from the first, from the middle, or from the rows that are inserted during a cut.
    const options = { headsFrom: [300, 2_000, 4_990][seed % 3] as number }
    const field = await openDenseField(definition, pool, options)
    const next = random(seed)
    let version = 0
    const live = new Set<number>()
    const write = async (ordinals: number[], removed: number[]) => {
      version++
      const vectors = Float32Array.from({ length: ordinals.length * dimension }, () => next() - 0.5)
      if (kinds !== undefined)
        for (let i = 0; i < ordinals.length; i++) vectors.set(rowOfKind(Math.floor(next() * kinds)), i * dimension)
      const rows = {
        ordinals: Uint32Array.from(ordinals),
        vectors,
        norms: new Float32Array(ordinals.length).fill(version),
      }
      field.reserve(Math.max(0, ...ordinals) + 1)
      await field.apply(version, ordinals.length > 0 ? rows : undefined, Uint32Array.from(removed))
      await field.sweep(version)
      for (const ordinal of ordinals) live.add(ordinal)
      for (const ordinal of removed) live.delete(ordinal)
    }
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
    for (let n = 0; n < 3_000; n += 300) await write(range(n, n + 300), [])
    await write([], range(100, 400))
    const [early, prepared] = [field.prepareCut(), field.prepareCut()]
    const ahead = [early, prepared].map((cut) => cut.copyAhead(() => setImmediate()))
    // Links change while they are copied: by new rows, reused ones, deaths, and a sweep. With an odd number of rows, the last one is
    // followed by another row in memory, and by padding on disk.
    await write(range(3_000, 4_999), [])
    await write(range(100, 400), range(1_500, 2_500))
    await ahead[0]
    const first = early.take()
    const firstDigest = field.digest()
    const firstBytes = Array.from(first.pieces, (piece) => piece.slice())
    await write(range(1_500, 1_600), range(5, 15))
    await ahead[1]
    const digest = field.digest()
    const cut = prepared.take()
    for (const done of [first, early, prepared]) done.release()
    const pieces: Uint8Array[] = []
    let step = 0
    for (const piece of cut.pieces) {
      pieces.push(piece.slice())
      // New ordinals, reused ones, deaths, and enough of them to sweep the graph.
      if (step === 0) await write(range(1_600, 1_900), range(1_000, 1_300))
      if (step === 1) await write(range(4_999, 5_500), range(2_500, 2_900))
      if (step % 3 === 2) await write([], [...live].slice(0, 5))
      step++
    }
    cut.release()
    t.not(field.digest(), digest, 'the field went on')
    const loaded = await loadDenseField(definition, pool, sourceOf(pieces), options)
    t.equal(loaded.digest(), digest)
    const loadedFirst = await loadDenseField(definition, pool, sourceOf(firstBytes), options)
    t.equal(loadedFirst.digest(), firstDigest, 'of two cuts that overlap each is as of its moment')
    for (const one of [field, loaded, loadedFirst] as DenseField[]) await one.close()
  })
}
