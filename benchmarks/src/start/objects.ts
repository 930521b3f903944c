// A million generated objects: object n depends on n only and is near one of a thousand centers, so any process can compute it.
import type { CollectionDefinition, ObjectInput } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'

export const dimension = 128
export const centers = 1_000
export const groups = 100

export function vectorOf(n: number): Float32Array {
  const center = seededRandom((n % centers) + 1)
  const noise = seededRandom(n + 1_000_003)
  return Float32Array.from({ length: dimension }, () => center.next() + (noise.next() - 0.5) * 0.8)
}

export function objectOf(n: number): ObjectInput {
  return {
    id: `object-${n}`,
    meta: { n, title: `Object number ${n}` },
    filter: { group: n % groups, even: n % 2 === 0, price: (n * 7919) % 1_000 },
    fields: { v: vectorOf(n) },
  }
}

export const definition: CollectionDefinition = {
  name: 'objects',
  fields: [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'int8' } }],
}

/** Throws unless a search with the vector of object n finds it, among all objects and among those of its group. */
export async function checkFound(
  search: (request: {
    fields: { v: { query: Float32Array; limit: number } }
    filter?: { group: { $eq: number } }[]
  }) => Promise<{
    readonly results: { readonly [field: string]: readonly { readonly id: string }[] }
  }>,
  n: number,
): Promise<void> {
  const fields = { v: { query: vectorOf(n), limit: 10 } }
  for (const filter of [undefined, [{ group: { $eq: n % groups } }]]) {
    const { results } = await search({ fields, ...(filter && { filter }) })
    const best = results.v?.[0]?.id
    if (best !== `object-${n}`) throw new Error(`a search with the vector of object-${n} found ${best}`)
  }
}
