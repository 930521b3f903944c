// Builds a replica again from the live objects of another: ordinals without gaps, no dead rows, new graphs. A pure function of the old
// replica and the new definition, so a replay builds the same one.

import { TimeSlice } from '@annal/wal'
import type { DenseColumn, MultiColumn, ObjectsUpserted, SparseColumn, TextColumn } from '../model/event.ts'
import type { FieldSchema, TextFieldSchema } from '../model/schema.ts'
import { vectorForm } from '../model/vector-form.ts'
import type { Originals } from '../originals/originals.ts'
import { type CountedText, countTerms, keepCounts } from '../text/counted-text.ts'
import { Replica, type ReplicaHost } from './replica.ts'

/** Objects moved at a time. A replay must use the same number, because the graph depends on it. */
const batchObjects = 500
/** Maximum number of members in a batch, because they are in memory at the same time. */
const batchMembers = 32_768

/** Builds the new replica, which has no LSN yet. The old replica must not change meanwhile; it continues to serve searches. */
export async function rebuild(
  old: Replica,
  fields: readonly FieldSchema[],
  host: ReplicaHost,
  onProgress: (done: number, total: number) => void,
): Promise<Replica> {
  const { id, definition, generation, lsnApplied: lsn, lsnCreated } = old
  const { bitmap: live } = old.storedFilters.evaluate([])
  const renumberings = old.renumberings.with({ generation, live })
  const options = { ...host, lsn, lsnCreated, generation: generation + 1, renumberings }
  const made = await Replica.empty(id, { ...definition, fields }, options)
  try {
    const ordinals = live.toOrdinals()
    for (let index = 0; index < ordinals.length; ) {
      const end = batchEnd(old, ordinals, index)
      const batch = ordinals.subarray(index, end)
      const lsns = Array.from(batch, (ordinal) => old.objects.lsnAt(ordinal))
      await made.adopt(await upsertOf(old, batch), lsns)
      onProgress(end, ordinals.length)
      index = end
    }
    return made
  } catch (error) {
    await made.remove()
    throw error
  }
}

function batchEnd({ definition, originals }: Replica, ordinals: Uint32Array, start: number): number {
  const several = originals.filter((_, field) => definition.fields[field]?.kind === 'multi')
  let end = start
  for (let members = 0; end < Math.min(start + batchObjects, ordinals.length) && members < batchMembers; end++)
    for (const field of several) members += field?.count(ordinals[end] as number) ?? 0
  return end
}

/** An upsert event with the objects of some ordinals. */
export async function upsertOf(old: Replica, ordinals: Uint32Array): Promise<ObjectsUpserted> {
  const { objects, definition } = old
  const dense: DenseColumn[] = []
  const sparse: SparseColumn[] = []
  const multi: MultiColumn[] = []
  const text: TextColumn[] = []
  for (const [index, field] of definition.fields.entries()) {
    if (field.kind === 'dense') dense.push(await denseColumn(old, index, ordinals))
    else if (field.kind === 'sparse') sparse.push(sparseColumn(old, index, ordinals))
    else if (field.kind === 'text') text.push(await textColumn(old, { index, field }, ordinals))
    else multi.push(await multiColumn(old, index, ordinals))
  }
  return {
    kind: 'objects-upserted',
    timeMs: 0,
    collectionId: old.id,
    ids: Array.from(ordinals, (ordinal) => objects.idAt(ordinal)),
    metas: Array.from(ordinals, (ordinal) => objects.meta(ordinal).slice()),
    filters: Array.from(ordinals, (ordinal) => objects.filterText(ordinal)),
    dense: dense.filter(hasObjects),
    sparse: sparse.filter(hasObjects),
    multi: multi.filter(hasObjects),
    text: text.filter(hasObjects),
  }
}

function hasObjects({ objects }: { readonly objects: Uint32Array }): boolean {
  return objects.length > 0
}

/** The vectors as given, from disk if the rows in memory do not reproduce them. */
async function denseColumn(old: Replica, field: number, ordinals: Uint32Array): Promise<DenseColumn> {
  const [rows, originals] = [old.dense[field], old.originals[field]]
  const having = [...ordinals.keys()].filter((i) => rows?.has(ordinals[i] as number, old.version))
  const read = await originals?.readGiven(having.map((i) => ordinals[i] as number))
  const dimension = rows?.definition.params.dimension ?? 0
  const vectors = new Float32Array(having.length * dimension)
  const forms = new Uint8Array(having.length)
  for (const [row, i] of having.entries()) {
    const { vector, form } = read?.[row] ?? { vector: rows?.row(ordinals[i] as number), form: vectorForm.unit }
    vectors.set(vector as Float32Array, row * dimension)
    forms[row] = form
  }
  const norms = Float32Array.from(having, (i) => rows?.norm(ordinals[i] as number) ?? 0)
  const hasForms = forms.some((form) => form !== vectorForm.unit)
  return { field, objects: Uint32Array.from(having), vectors, norms, ...(hasForms && { forms }) }
}

/** The members as given; their pooled vectors are computed again. */
async function multiColumn(old: Replica, field: number, ordinals: Uint32Array): Promise<MultiColumn> {
  const originals = old.originals[field] as Originals
  const dimension = old.dense[field]?.definition.params.dimension ?? 1
  const having = [...ordinals.keys()].filter((i) => originals.has(ordinals[i] as number))
  const found = await Promise.all(having.map((i) => originals.read(ordinals[i] as number)))
  const vectors = new Float32Array(found.reduce((sum, { length }) => sum + length, 0))
  let position = 0
  for (const members of found) {
    vectors.set(members, position)
    position += members.length
  }
  const counts = Uint32Array.from(found, ({ length }) => length / dimension)
  return { field, objects: Uint32Array.from(having), counts, vectors }
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
  let position = 0
  for (const term of found) {
    indices.set(term.indices, position)
    values.set(term.values, position)
    position += term.indices.length
  }
  const counts = Uint32Array.from(found, (term) => term.indices.length)
  return { field, objects: Uint32Array.from(having), counts, indices, values }
}

/** The texts as given. Their terms are counted here, some at a time, because the replica needs them when it applies the event. */
async function textColumn(
  old: Replica,
  { index, field }: { readonly index: number; readonly field: TextFieldSchema },
  ordinals: Uint32Array,
): Promise<TextColumn> {
  const objects: number[] = []
  const texts: string[] = []
  const counted: CountedText[] = []
  const slice = new TimeSlice()
  for (const [position, ordinal] of ordinals.entries()) {
    const text = old.objects.sparse(ordinal).find((candidate) => candidate.field === index)?.text
    if (text === undefined) continue
    objects.push(position)
    texts.push(text)
    counted.push(countTerms(text, field.params))
    if (slice.isOver) await slice.renew()
  }
  keepCounts(texts, counted, field.params)
  return { field: index, objects: Uint32Array.from(objects), texts }
}
