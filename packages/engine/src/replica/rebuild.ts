// Makes a replica anew from the live objects of another: ordinals without gaps, no dead rows, graphs built afresh. A pure
// function of the old replica and the new definition, so a replay makes the same one.
import type { FieldDefinition } from '../definition.ts'
import type { DenseColumn, ObjectsUpserted, SparseColumn } from '../events/event.ts'
import { Replica, type ReplicaHost } from './replica.ts'

/** Objects taken over at a time. Part of what a replay must repeat, since it decides how the graph is built. */
const batchObjects = 500

/** The old replica must not change meanwhile; it goes on answering searches. The new one is as of no record yet. */
export async function rebuild(
  old: Replica,
  fields: readonly FieldDefinition[],
  host: ReplicaHost,
  onProgress: (done: number, total: number) => void,
): Promise<Replica> {
  const { id, definition, generation, lsnApplied: lsn } = old
  const made = await Replica.empty(id, { ...definition, fields }, { ...host, lsn, generation: generation + 1 })
  try {
    const ordinals = old.filters.evaluate([]).bitmap.toOrdinals()
    for (let at = 0; at < ordinals.length; at += batchObjects) {
      await made.adopt(await upsertOf(old, ordinals.subarray(at, at + batchObjects)))
      onProgress(Math.min(at + batchObjects, ordinals.length), ordinals.length)
    }
    return made
  } catch (error) {
    await made.remove()
    throw error
  }
}

/** The objects of some ordinals as if they were given anew. */
async function upsertOf(old: Replica, ordinals: Uint32Array): Promise<ObjectsUpserted> {
  const { objects, definition } = old
  const dense: DenseColumn[] = []
  const sparse: SparseColumn[] = []
  for (const [at, field] of definition.fields.entries()) {
    const column = field.kind === 'dense' ? await denseColumn(old, at, ordinals) : sparseColumn(old, at, ordinals)
    if (column.objects.length === 0) continue
    if ('vectors' in column) dense.push(column)
    else sparse.push(column)
  }
  return {
    kind: 'objects-upserted',
    timeMs: 0,
    collectionId: old.id,
    ids: Array.from(ordinals, (ordinal) => objects.idAt(ordinal)),
    metas: Array.from(ordinals, (ordinal) => objects.meta(ordinal).slice()),
    filters: Array.from(ordinals, (ordinal) => objects.filterText(ordinal)),
    dense,
    sparse,
  }
}

/** Vectors as they came, from disk where the field keeps less. */
async function denseColumn(old: Replica, field: number, ordinals: Uint32Array): Promise<DenseColumn> {
  const [rows, originals] = [old.dense[field], old.originals[field]]
  const having = [...ordinals.keys()].filter((i) => rows?.has(ordinals[i] as number, old.version))
  const found = await Promise.all(
    having.map(async (i) => {
      const ordinal = ordinals[i] as number
      return originals ? await originals.read(ordinal) : (rows?.row(ordinal) as Float32Array)
    }),
  )
  const dimension = found[0]?.length ?? 0
  const vectors = new Float32Array(found.length * dimension)
  found.forEach((vector, i) => {
    vectors.set(vector, i * dimension)
  })
  const norms = Float32Array.from(having, (i) => rows?.norm(ordinals[i] as number) ?? 0)
  return { field, objects: Uint32Array.from(having), vectors, norms }
}

function sparseColumn(old: Replica, field: number, ordinals: Uint32Array): SparseColumn {
  const terms = [...ordinals].map((ordinal) =>
    old.objects.sparse(ordinal).find((candidate) => candidate.field === field),
  )
  const having = [...terms.keys()].filter((i) => terms[i])
  const found = having.flatMap((i) => terms[i] ?? [])
  const total = found.reduce((sum, { indices }) => sum + indices.length, 0)
  const indices = new Uint32Array(total)
  const values = new Float32Array(total)
  let at = 0
  for (const term of found) {
    indices.set(term.indices, at)
    values.set(term.values, at)
    at += term.indices.length
  }
  const counts = Uint32Array.from(found, (term) => term.indices.length)
  return { field, objects: Uint32Array.from(having), counts, indices, values }
}
