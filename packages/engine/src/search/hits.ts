// Converts ordinals and similarities to hits: id, meta, filter, norm, and the vector and the texts if they are requested.

import { TimeSlice } from '@annal/wal'
import { Copies } from '../memory/copies.ts'
import type { DenseRow } from '../model/object.ts'
import type { Highlight } from '../model/query.ts'
import type { SearchHit } from '../model/search-result.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { analyzerOf } from '../text/analyzers.ts'
import type { WantedContents } from './answer-room.ts'
import type { FieldAnswer } from './field-run.ts'
import { FoundHit } from './found-hit.ts'
import { readGivenRows } from './given.ts'
import { highlightOf } from './highlight.ts'
import { listContents } from './read-object.ts'
import type { Task, TextTask } from './request.ts'
import { memberRows } from './returned-rows.ts'
import { StoredParts } from './stored.ts'

/** Vectors read from disk at a time. */
const rowsAtOnce = 64

/** The hits of one field. Reads vectors from disk if they are requested. The version must be pinned. */
export async function createHits(
  replica: ReadableReplica,
  task: Task,
  answer: FieldAnswer,
  { version, vectors, texts }: WantedContents & { readonly version: number },
): Promise<SearchHit[]> {
  if (!vectors || task.kind === 'multi') return hitsOf(replica, task, answer, version, { texts })
  const rows = await readRows(replica, vectorFieldOf(replica, task), answer.found.ordinals, version)
  return hitsOf(replica, task, answer, version, { texts, rows })
}

/** The hits of one field, with the vectors that were read, and with the texts of their objects if `texts` is true. */
export function hitsOf(
  replica: ReadableReplica,
  task: Task,
  { found, members, matched }: Pick<FieldAnswer, 'found' | 'members' | 'matched'>,
  version: number,
  { rows = [], texts = false }: { readonly rows?: readonly (DenseRow | undefined)[]; readonly texts?: boolean } = {},
): SearchHit[] {
  const fieldIndex = vectorFieldOf(replica, task)
  const field = replica.dense[fieldIndex]
  const isDistance = hasGraph(task) && (field?.definition.params.spaceType ?? 'ip') === 'cosine'
  const hits: SearchHit[] = []
  const copies = new Copies()
  for (let i = 0; i < found.ordinals.length; i++) {
    const ordinal = found.ordinals[i] as number
    // Adding 0 turns -0, the negated distance of an equal vector, into 0.
    const similarity = (found.similarities[i] as number) + 0
    const stored = new StoredParts(replica, ordinal, version, copies)
    // A dense field returns only ordinals that it has, and keeps them while the version is pinned.
    const has = task.kind === 'dense' || field?.has(ordinal, version) === true
    const norm = has && field ? field.norm(ordinal) : 1
    const hitMembers = members?.[i]
    const memberVectors = hitMembers && memberRows(hitMembers, replica.definition.fields[fieldIndex])
    const distance = isDistance ? 1 - similarity : 0 - similarity
    const highlight = task.kind === 'text' ? highlightAt(replica, task, ordinal, matched) : undefined
    const own = texts ? textsAt(replica, ordinal) : undefined
    const parts = { similarity, distance, norm, row: rows[i], members: memberVectors, texts: own, highlight }
    hits.push(new FoundHit(stored, parts))
  }
  return hits
}

/** Reads a few vectors at a time, so that other readers of the disk can proceed. */
async function readRows(replica: ReadableReplica, fieldIndex: number, ordinals: Uint32Array, version: number) {
  const slice = new TimeSlice()
  const rows: (DenseRow | undefined)[] = []
  for (let from = 0; from < ordinals.length; from += rowsAtOnce) {
    await slice.renewIfOver()
    rows.push(...(await readGivenRows(replica, fieldIndex, [...ordinals.subarray(from, from + rowsAtOnce)], version)))
  }
  return rows
}

/** The field whose vector a hit includes. A hit of a field without a graph includes the vector of the first dense field. */
export function vectorFieldOf({ definition }: ReadableReplica, task: Task): number {
  return hasGraph(task) ? task.fieldIndex : definition.fields.findIndex(({ kind }) => kind === 'dense')
}

function hasGraph({ kind }: Task): boolean {
  return kind === 'dense' || kind === 'multi'
}

function textsAt({ definition, objects }: ReadableReplica, ordinal: number): { readonly [field: string]: string } {
  return listContents(definition.fields, objects.sparse(ordinal)).text
}

function highlightAt(
  replica: ReadableReplica,
  { definition, fieldIndex, options }: TextTask,
  ordinal: number,
  terms: ReadonlySet<string> = new Set(),
): Highlight | undefined {
  if (!options.highlight || terms.size === 0) return undefined
  const text = replica.objects.sparse(ordinal).find(({ field }) => field === fieldIndex)?.text
  return text === undefined ? undefined : highlightOf(analyzerOf(definition.params), text, terms)
}
