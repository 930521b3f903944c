// Vectors of every kind that a field accepts, for tests of how they are returned: of lengths from 1e-3 to 1e3, of unit length, zero, with
// negative zeros and subnormal numbers, copies, and with a separate norm.
import type { Collection, FieldDefinition, FieldValue, SpaceType, StoredObject } from '@annal/engine'
import type { Random } from '@annal/wal/testing'

export const dimension = 12
export const spaceTypes = ['cosine', 'l2', 'ip']
/** A collection has at most eight fields. int4 keeps vectors as int2 does. */
export const precisions = ['binary', 'int2', 'int8', 'int16', 'float16', 'float32'] as const

/** One field for each precision, a multi-vector field, and a sparse field. */
/** `space` is one of the space types. */
export function everyField(space: string): readonly FieldDefinition[] {
  const params = { dimension, spaceType: space as SpaceType, M: 4, efConstruction: 16 }
  const dense = precisions.map((precision) => ({
    name: `${precision}_${space}`,
    type: 'vector' as const,
    params: { ...params, precision },
  }))
  const members = { name: 'members', type: 'multi_vector' as const, params }
  return [...dense, members, { name: 'words', type: 'sparse' }]
}

export interface Given {
  readonly id: string
  /** By field. */
  readonly dense: { readonly [field: string]: { readonly sent: Float32Array; readonly norm?: number } }
  readonly members: readonly Float32Array[]
}

function direction(random: Random): number[] {
  return Array.from({ length: dimension }, () => random.next() - 0.5)
}

function scaledTo(length: number, vector: readonly number[]): Float32Array {
  const norm = Math.hypot(...vector)
  return Float32Array.from(vector, (x) => (x / norm) * length)
}

function someVector(random: Random): Float32Array {
  switch (random.below(8)) {
    case 0:
      return scaledTo(1, direction(random))
    case 1:
      return Float32Array.from({ length: dimension }, (_, i) => (i % 2 === 0 ? 0 : -0))
    case 2:
      return Float32Array.from({ length: dimension }, (_, i) => Math.cos(i))
    case 3:
      return scaledTo(1e-41, direction(random))
    case 4:
      return Float32Array.from(direction(random), (x, i) => (i === 3 ? -0 : x))
    default:
      return scaledTo(10 ** (6 * random.next() - 3), direction(random))
  }
}

/** A vector as a client sends it that sends lengths separately: usually of unit length. */
function randomSent(random: Random): { sent: Float32Array; norm: number } {
  const norm = Math.fround(10 ** (6 * random.next() - 3))
  return { sent: random.below(4) === 0 ? someVector(random) : scaledTo(1, direction(random)), norm }
}

export function someGiven(random: Random, space: string, count: number, from = 0): Given[] {
  const fields = precisions.map((precision) => `${precision}_${space}`)
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    dense: Object.fromEntries(
      fields.map((name) => [name, random.below(4) === 0 ? randomSent(random) : { sent: someVector(random) }]),
    ),
    members: Array.from({ length: 1 + random.below(3) }, () => someVector(random)),
  }))
}

export function objectOf({ id, dense, members }: Given) {
  const fields: Record<string, FieldValue> = { members, words: { indices: [1, Number(id) % 7], values: [1, 2] } }
  if (Number(id) % 7 === 1) fields.words = { indices: [1], values: [3] }
  // As doubles: the float32 values of these are accepted.
  for (const [name, { sent, norm }] of Object.entries(dense))
    fields[name] = norm === undefined ? Array.from(sent) : { vector: Array.from(sent), norm }
  return { id, fields }
}

export function bitsOf(vector: ArrayLike<number> | undefined): string {
  return vector === undefined ? 'nothing' : Buffer.from(Float32Array.from(vector).buffer).toString('hex')
}

/** The vector that a client meant: the one it sent, in a cosine field times the norm that it sent. */
export function meantVector(space: string, { sent, norm }: Given['dense'][string]): Float32Array {
  if (norm === undefined || space !== 'cosine' || norm === 1) return sent
  const length = Math.sqrt(sent.reduce((sum, x) => sum + x * x, 0))
  if (Math.abs(length - norm) <= 1e-6 * length && Math.abs(length - 1) > 1e-6) return sent
  return sent.map((x) => x * norm)
}

/** Differences of an object from what was given, by field. */
export function faultsOf(given: Given, { dense, multi }: StoredObject): string[] {
  const faults: string[] = []
  for (const [name, value] of Object.entries(given.dense)) {
    const found = dense[name]
    if (bitsOf(found?.vector) !== bitsOf(meantVector(name.split('_')[1] as string, value)))
      faults.push(`${given.id}.${name}.vector is ${found?.vector}, not ${value.sent} with ${value.norm}`)
    if (value.norm === undefined) continue
    if (bitsOf(found?.row) !== bitsOf(value.sent))
      faults.push(`${given.id}.${name}.row is ${found?.row}, not ${value.sent}`)
    if (found?.norm !== value.norm) faults.push(`${given.id}.${name}.norm is ${found?.norm}, not ${value.norm}`)
  }
  if (bitsOf(flat(multi.members?.map(({ vector }) => vector))) !== bitsOf(flat(given.members)))
    faults.push(`${given.id}.members`)
  return faults
}

function flat(vectors: readonly Float32Array[] = []): number[] {
  return vectors.flatMap((vector) => [...vector])
}

/** Compares objects by id and by page with what was given. */
export async function faultsIn(collection: Collection, all: ReadonlyMap<string, Given>): Promise<string[]> {
  const faults: string[] = []
  const given = (id: string) => all.get(id) as Given
  const ids = [...all.keys()]
  for (let start = 0; start < ids.length; start += 200)
    for (const object of await collection.get(ids.slice(start, start + 200)))
      faults.push(...faultsOf(given(object.id), object))
  let seen = 0
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const page = await collection.scroll({ limit: 300, ...(cursor !== undefined && { cursor }) })
    for (const object of page.objects) faults.push(...faultsOf(given(object.id), object))
    seen += page.objects.length
    cursor = page.cursor
  }
  if (seen !== all.size) faults.push(`${seen} objects were scrolled, not ${all.size}`)
  return faults
}

/** Compares hits of every field, found in every way, with what was given. */
export async function faultsInSearches(collection: Collection, all: ReadonlyMap<string, Given>): Promise<string[]> {
  const faults: string[] = []
  const given = (id: string) => all.get(id) as Given
  const ids = [...all.keys()]
  const { fields } = collection.describe()
  const some = given(ids[ids.length >> 1] as string)
  for (const field of fields) {
    const query =
      field.kind === 'sparse'
        ? { indices: [1], values: [1] }
        : field.kind === 'multi'
          ? some.members
          : (some.dense[field.name]?.sent as Float32Array)
    for (const how of [{}, { exact: true }, { rescore: true }, { filter: [] }]) {
      const { results } = await collection.search({
        fields: { [field.name]: { query, limit: 40 } },
        includeVectors: true,
        ...how,
      })
      const hits = results[field.name] ?? []
      if (hits.length !== Math.min(40, all.size)) faults.push(`${field.name}: ${hits.length} hits`)
      for (const hit of hits) {
        // A hit of a sparse field has the first dense vector of its object.
        const name = field.kind === 'sparse' ? (fields[0]?.name as string) : field.name
        const wanted =
          field.kind === 'multi'
            ? flat(given(hit.id).members)
            : meantVector(name.split('_')[1] as string, given(hit.id).dense[name] as Given['dense'][string])
        const found = field.kind === 'multi' ? flat(hit.members?.map(({ vector }) => vector)) : hit.vector
        if (bitsOf(found) !== bitsOf(wanted)) faults.push(`hit ${hit.id} of ${field.name} with ${JSON.stringify(how)}`)
      }
    }
  }
  return faults
}
