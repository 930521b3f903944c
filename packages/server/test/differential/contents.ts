// The collections that both servers of a differential test hold: every kind of field, and rows that are equal, so that scores are too.
import type { Choices } from './choices.ts'

export const dimension = 8
/** Under these names, requests create and delete collections. */
export const passing = ['passing1', 'passing2', 'passing3']
export const names = ['docs', 'mixed', 'films', ...passing]

export interface Sent {
  readonly path: string
  readonly json: unknown
}

export function vectorOf(choices: Choices): number[] {
  return Array.from({ length: dimension }, () => Math.fround(choices.next() * 2 - 1))
}

export function idOf(choices: Choices): string {
  return choices.one([`o${choices.below(120)}`, 'o1', 'a/b', 'ä€😀', 'missing', '', 'o%2F1'])
}

/** The requests that create the collections and their objects. */
export function contents(choices: Choices): Sent[] {
  const creates = ['docs', 'mixed'].map((index_name) => ({
    path: '/api/v1/index/create',
    json: {
      index_name,
      dim: dimension,
      space_type: index_name === 'docs' ? 'l2' : 'cosine',
      precision: index_name === 'docs' ? 'int8' : 'float32',
      ...(index_name === 'mixed' && { sparse_model: 'default' }),
    },
  }))
  const films = {
    name: 'films',
    fields: [
      { name: 'plot', type: 'vector', params: { dimension, space_type: 'cosine', precision: 'float32' } },
      { name: 'words', type: 'sparse', sparse_model: 'default' },
      { name: 'rare', type: 'sparse', sparse_model: 'endee_bm25' },
      { name: 'code', type: 'vector', params: { dimension, space_type: 'l2', precision: 'int4' } },
      { name: 'pages', type: 'multi_vector', params: { dimension, space_type: 'cosine', precision: 'float32' } },
    ],
  }
  const ids = [...Array.from({ length: 120 }, (_, i) => `o${i}`), 'a/b', 'ä€😀']
  const equal = vectorOf(choices)
  const objects = ids.map((id, i) => ({
    id,
    meta: i % 4 === 0 ? { title: `object ${i}`, deep: { list: [1, 'é', null] } } : `meta ${i}`,
    filter: { n: i, color: ['red', 'green', 'blue'][i % 3], tags: [`t${i % 5}`, 'all'] },
    vector: i % 10 === 0 ? equal : vectorOf(choices),
  }))
  const sparse = ids.map((_, i) => ({ sparse_indices: [i % 7, 10 + (i % 11)], sparse_values: [1, 0.5 + (i % 3)] }))
  const filmObjects = objects.map(({ id, meta, filter, vector }, i) => ({
    id,
    meta,
    filter,
    fields: {
      plot: vector,
      code: vector,
      words: { indices: sparse[i]!.sparse_indices, values: sparse[i]!.sparse_values },
      ...(i % 3 > 0 && { rare: { indices: sparse[i]!.sparse_indices, values: sparse[i]!.sparse_values } }),
      ...(i % 2 === 0 && { pages: [vector, vectorOf(choices)] }),
    },
  }))
  return [
    ...creates,
    { path: '/api/v2/collection', json: films },
    { path: '/api/v1/index/docs/vector/insert', json: objects },
    { path: '/api/v1/index/mixed/vector/insert', json: objects.map((object, i) => ({ ...object, ...sparse[i] })) },
    { path: '/api/v2/collection/films/objects', json: { objects: filmObjects } },
  ]
}
