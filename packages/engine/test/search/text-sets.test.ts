// Real text: sparse results equal the exact ones for every query, faster than scoring every row, and hybrid results are as good as
// published ones.
import type { SearchRequest } from '@annal/engine'
import { test } from 'tap'
import type { SparseRows } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { openSparseField } from '../../src/vector/sparse/field.ts'
import { fault, noRows, rowsOfTerms, scoreAllRows, sparseDefinition, type Terms } from '../vector/sparse-world.ts'
import { denseField, openCollection, sparseField } from './rig.ts'
import { baselines, ndcg10, readTextSet, type SparseRow, type TextSet, textSetNames } from './text-set.ts'

/** Terms of texts that are analyzed already are words between spaces. */
const textField = { name: 'body', type: 'text', params: { language: 'none' } } as const

for (const name of textSetNames) {
  const set = readTextSet(name)
  const skip = set === undefined && `${name} is not on this machine (ANNAL_DATA)`

  test(`${name}: sparse search equals exhaustive scoring for every query`, { skip }, async (t) => {
    if (set === undefined) return
    const pool = await openWorkerPool({ threads: 2 })
    const field = await openSparseField(sparseDefinition(), pool)
    const rows = Array.from({ length: set.rows }, (_, i) => [i, termsOf(set.sparse(i))] as const)
    await field.apply(1, rowsOf(rows), noRows)
    const ratios: number[] = []
    for (let query = 0; query < set.queries; query++) {
      const terms = termsOf(set.sparseQuery(query))
      for (const k of [10, 100]) {
        const started = performance.now()
        const hits = await field.search(terms, { k, version: 1 })
        const searched = performance.now()
        const truth = scoreAllRows(rows, terms)
        if (k === 10) ratios.push((performance.now() - searched) / (searched - started))
        t.equal(fault(hits, truth, k), undefined, `query ${query}, k ${k}`)
        const shipped = set.sparseScores(query).subarray(0, k)
        t.ok(
          hits.similarities.every((similarity, i) => Math.abs(similarity - (shipped[i] ?? 0)) < 1e-4),
          `query ${query}, k ${k}: the shipped scores`,
        )
      }
    }
    const median = ratios.sort((a, b) => a - b)[ratios.length >> 1] ?? 0
    t.comment(`${median.toFixed(1)} times as fast as scoring every row, in the median`)
    await field.close()
    await pool.close()
  })

  test(`${name}: sparse, dense, and fused results are as good as published`, { skip }, async (t) => {
    if (set === undefined) return
    const collection = await openCollection(t, [denseField(set.dimension, { space_type: 'cosine' }), sparseField()])
    const objects = Array.from({ length: set.rows }, (_, i) => ({
      id: `${i}`,
      fields: { dense: set.dense(i), words: set.sparse(i) },
    }))
    for (let from = 0; from < objects.length; from += 1_000) await collection.upsert(objects.slice(from, from + 1_000))
    const sums = { bm25: 0, lsa: 0, rrf: 0 }
    let judged = 0
    for (const { query, relevant } of judgedQueries(set)) {
      const fields = {
        dense: { query: set.denseQuery(query), limit: 100 },
        words: { query: set.sparseQuery(query), limit: 100 },
      }
      const { results, fused } = await collection.search({ fields, exact: true, fusion: { method: 'rrf', k: 60 } })
      const rowsOfHits = (hits: readonly { readonly id: string }[] | undefined) =>
        (hits ?? []).map(({ id }) => Number(id))
      sums.bm25 += ndcg10(rowsOfHits(results.words), relevant)
      sums.lsa += ndcg10(rowsOfHits(results.dense), relevant)
      sums.rrf += ndcg10(rowsOfHits(fused?.map(({ hit }) => hit)), relevant)
      judged++
    }
    for (const side of ['bm25', 'lsa', 'rrf'] as const) {
      const found = sums[side] / judged
      const published = baselines[name][side]
      t.ok(Math.abs(found - published) <= 0.005, `${side}: ${found.toFixed(4)}, published ${published}`)
    }
  })

  test(`${name}: texts give the published scores and figures, analyzed as published`, { skip }, async (t) => {
    if (set === undefined) return
    const collection = await openCollection(t, [denseField(set.dimension, { space_type: 'cosine' }), textField])
    const objects = Array.from({ length: set.rows }, (_, i) => ({
      id: `${i}`,
      fields: { dense: set.dense(i), body: set.publishedTerms(i) },
    }))
    for (let from = 0; from < objects.length; from += 1_000) await collection.upsert(objects.slice(from, from + 1_000))
    const sums = { bm25: 0, rrf: 0 }
    let judged = 0
    for (const { query, relevant } of judgedQueries(set)) {
      const fields: SearchRequest['fields'] = {
        dense: { query: set.denseQuery(query), limit: 100 },
        body: { query: set.publishedQueryTerms(query), limit: 100 },
      }
      const { results, fused } = await collection.search({ fields, exact: true, fusion: { method: 'rrf', k: 60 } })
      const hits = results.body ?? []
      const shipped = set.sparseScores(query).filter((score) => score > 0)
      t.equal(hits.length, Math.min(shipped.length, 100), `query ${query}: hits`)
      const differs = hits.findIndex(({ similarity }, i) => {
        const score = shipped[i] ?? Number.NaN
        return !(Math.abs(similarity - score) <= 1e-6 * score)
      })
      t.equal(differs, -1, `query ${query}: ${hits[differs]?.similarity}, published ${shipped[differs]}`)
      sums.bm25 += ndcg10(
        hits.map(({ id }) => Number(id)),
        relevant,
      )
      sums.rrf += ndcg10(
        (fused ?? []).map(({ hit }) => Number(hit.id)),
        relevant,
      )
      judged++
    }
    for (const side of ['bm25', 'rrf'] as const) {
      const found = sums[side] / judged
      const published = baselines[name][side]
      t.ok(Math.abs(found - published) <= 0.005, `${side}: ${found.toFixed(4)}, published ${published}`)
    }
  })
}

function* judgedQueries(set: TextSet) {
  for (let query = 0; query < set.queries; query++) {
    const relevant = set.relevant(query)
    if (relevant !== undefined) yield { query, relevant }
  }
}

function termsOf({ indices, values }: SparseRow): Terms {
  return { indices: Uint32Array.from(indices), values }
}

function rowsOf(rows: readonly (readonly [number, Terms])[]): SparseRows {
  return rowsOfTerms(rows)
}
