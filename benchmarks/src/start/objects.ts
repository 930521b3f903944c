// A million objects that nobody stores: object n is made from n alone, around one of a thousand centres, so that a process
// that never saw the others knows what object n must be.
import type { CollectionDefinition, ObjectInput } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'

export const dimension = 128
const centres = 1_000
export const groups = 100

export function vectorOf(n: number): Float32Array {
  const centre = seededRandom((n % centres) + 1)
  const own = seededRandom(n + 1_000_003)
  return Float32Array.from({ length: dimension }, () => centre.next() + (own.next() - 0.5) * 0.8)
}

export function objectOf(n: number): ObjectInput {
  return {
    id: `object-${n}`,
    meta: { n, title: `The object of number ${n}` },
    filter: { group: n % groups, even: n % 2 === 0, price: (n * 7919) % 1_000 },
    fields: { v: vectorOf(n) },
  }
}

export const definition: CollectionDefinition = {
  name: 'objects',
  fields: [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'int8' } }],
}

/** Throws unless object n is found by its own vector, in all objects and among those of its group. */
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
    if (best !== `object-${n}`) throw new Error(`object-${n} is asked for by its own vector, ${best} is found`)
  }
}
