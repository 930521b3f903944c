// Reads objects in a reader's thread as getMany of the owner returns them. What is in shared memory is copied while the version is
// pinned; vectors that are on disk are read afterwards.

import { writtenOverheadBytes } from '../limits.ts'
import type { DenseRow, StoredObject } from '../model/object.ts'
import { type FieldSchema, hasLists } from '../model/schema.ts'
import { splitText } from '../model/stored-text.ts'
import { vectorForm } from '../model/vector-form.ts'
import type { SharedOriginals } from '../originals/originals-rows.ts'
import type { ObjectText } from '../search/object-text.ts'
import { type FieldContents, listContents, ReadObject } from '../search/read-object.ts'
import { denseRow, memberRows } from '../search/returned-rows.ts'
import { emptyPlace } from './hit-buffer.ts'
import type { OriginalFiles, Slots } from './original-files.ts'
import type { ObjectPlace, ReplicaView } from './replica-view.ts'

/** Which objects are read, and how large they may be together. */
export interface ObjectsWanted {
  /** The time of the read: objects that had expired are left out. */
  readonly nowMs: number
  /** Checked by the caller: none is empty, too long, or ill-formed. */
  readonly ids: readonly string[]
  readonly bytesMax: number
}

/** A vector, or where it is on disk. */
interface DraftVector {
  readonly name: string
  readonly norm: number
  readonly form: number
  readonly kept: Float32Array | undefined
  readonly slots: Slots | undefined
  readonly originals: SharedOriginals | undefined
  readonly field: FieldSchema
}

/** An object without the vectors that are on disk. */
export interface ObjectDraft {
  readonly id: string
  readonly lsn: number
  readonly metaBytes: Uint8Array
  readonly storedText: string
  readonly vectors: readonly DraftVector[]
  readonly lists: Pick<FieldContents, 'sparse' | 'text'>
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Copies the objects as of the pinned version; unknown ids are left out. `again`: an object is not whole, because it is being changed.
 * `owner`: only the owner can read them.
 */
export function draftObjects(
  view: ReplicaView,
  version: number,
  { ids, bytesMax, nowMs }: ObjectsWanted,
  areIdsUnchanged: () => boolean,
): ObjectDraft[] | 'again' | 'owner' {
  const ordinals = ids.map((id) => view.find(id))
  // Before anything is read by ordinals that may be wrong.
  if (!areIdsUnchanged()) return 'again'
  const place = emptyPlace()
  const drafts: ObjectDraft[] = []
  let bytes = 0
  for (const [i, id] of ids.entries()) {
    const ordinal = ordinals[i]
    if (ordinal === undefined) return 'owner'
    if (ordinal < 0) continue
    view.findAddresses(ordinal, place)
    if (!view.locate(place)) return 'again'
    bytes += writtenOverheadBytes + place.recordBytes + vectorBytes(view, ordinal, version)
    if (bytes > bytesMax) return 'owner'
    const text = copyRecordText(place)
    if ((splitText(text.storedText).expiresAt ?? Number.POSITIVE_INFINITY) <= nowMs) continue
    const terms = view.sparseOf(place)
    if (terms === undefined) return 'again'
    drafts.push({
      id,
      lsn: view.lsnAt(ordinal),
      ...text,
      vectors: draftVectors(view, ordinal, version),
      lists: listContents(view.facts.definition.fields, terms),
    })
  }
  return drafts
}

/** The meta and the filter of an object that was located. */
export function copyRecordText({ record, metaOffset, metaBytes, filterBytes }: ObjectPlace): Omit<ObjectText, 'id'> {
  const filterAt = metaOffset + metaBytes
  return {
    metaBytes: record.slice(metaOffset, filterAt),
    storedText: filterBytes === 0 ? '' : decoder.decode(record.slice(filterAt, filterAt + filterBytes)),
  }
}

/** The id of an object that was located. */
export function copyId({ id, idOffset, idBytes }: ObjectPlace): string {
  return Buffer.from(id.slice(idOffset, idOffset + idBytes).buffer).toString()
}

/** Bytes of the vectors of an object; see answer-room.ts. */
function vectorBytes(view: ReplicaView, ordinal: number, version: number): number {
  let numbers = 0
  for (const [index, field] of view.facts.definition.fields.entries()) {
    if (field.kind === 'dense' && view.hasRow(index, ordinal, version)) numbers += field.params.dimension
    if (field.kind === 'multi') numbers += (slotsOf(view, index, ordinal)?.count ?? 0) * field.params.dimension
  }
  return numbers * 4
}

function draftVectors(view: ReplicaView, ordinal: number, version: number): DraftVector[] {
  const { definition, fields } = view.facts
  return definition.fields.flatMap((field, index) => {
    if (hasLists(field) || (field.kind === 'dense' && !view.hasRow(index, ordinal, version))) return []
    const originals = fields[index]?.originals
    const slots = originals && slotsOf(view, index, ordinal)
    if (field.kind === 'multi' && slots === undefined) return []
    const form = slots === undefined ? vectorForm.unit : view.originalsEntry(index, 'forms', ordinal)
    const { name } = field
    const norm = field.kind === 'dense' ? view.norm(index, ordinal) : 1
    // Fields without originals, and vectors that the rows in memory reproduce.
    const kept = slots === undefined ? view.row(index, ordinal) : undefined
    return [{ name, norm, form, kept, slots, originals, field }]
  })
}

/** Where the original vectors of an object are on disk. Undefined: nowhere. */
export function slotsOf(view: ReplicaView, field: number, ordinal: number): Slots | undefined {
  const slot = view.originalsEntry(field, 'slots', ordinal) - 1
  if (slot < 0) return undefined
  const isSeveral = view.facts.fields[field]?.originals?.isSeveral === true
  return { slot, count: isSeveral ? view.originalsEntry(field, 'counts', ordinal) : 1 }
}

/** The objects with their vectors. Undefined: only the owner can read them. A promise if a vector is on disk. */
export function finishObjects(
  drafts: readonly ObjectDraft[],
  files: OriginalFiles,
): StoredObject[] | Promise<StoredObject[] | undefined> {
  const isOnDisk = drafts.some(({ vectors }) => vectors.some(({ slots }) => slots !== undefined))
  if (!isOnDisk) return drafts.map((draft) => finishObject(draft, draft.vectors.map(keptOf)))
  return finishFromDisk(drafts, files)
}

async function finishFromDisk(
  drafts: readonly ObjectDraft[],
  files: OriginalFiles,
): Promise<StoredObject[] | undefined> {
  const read = ({ kept, slots, originals }: DraftVector) =>
    slots === undefined || originals === undefined ? Promise.resolve(kept) : files.read(originals, slots)
  const vectors = await Promise.all(drafts.map((draft) => Promise.all(draft.vectors.map(read))))
  const objects: StoredObject[] = []
  for (const [i, draft] of drafts.entries()) {
    const found = vectors[i]?.filter((vector) => vector !== undefined) ?? []
    if (found.length < draft.vectors.length) return undefined
    objects.push(finishObject(draft, found))
  }
  return objects
}

/** Not on disk, so it was copied. */
function keptOf({ kept }: DraftVector): Float32Array {
  return kept as Float32Array
}

function finishObject(draft: ObjectDraft, vectors: readonly Float32Array[]): StoredObject {
  const dense: Record<string, DenseRow> = {}
  const multi: Record<string, readonly DenseRow[]> = {}
  for (const [i, { name, norm, form, field }] of draft.vectors.entries()) {
    const kept = vectors[i] as Float32Array
    if (field.kind === 'multi') multi[name] = memberRows(kept, field)
    else if (field.kind === 'dense') dense[name] = denseRow({ kept, form, norm }, field.params.spaceType)
  }
  return new ReadObject(draft, { ...draft.lists, dense, multi })
}
