// From ordinals and similarities to what the asker gets: id, meta, filter, norm, and the vector when asked.

import type { JsonObject } from '../model/json.ts'
import type { DenseRow } from '../model/object.ts'
import type { SearchHit } from '../model/query.ts'
import type { SpaceType } from '../model/schema.ts'
import type { Replica } from '../replica/replica.ts'
import type { Task } from './request.ts'
import type { FieldAnswer } from './run-field.ts'
import { memberRows, StoredParts, scaled } from './stored.ts'

export function hitsOf(
  replica: Replica,
  task: Task,
  { found, members }: FieldAnswer,
  { includeVectors, version }: { readonly includeVectors: boolean; readonly version: number },
): SearchHit[] {
  const at = vectorFieldOf(replica, task)
  const field = replica.dense[at]
  const spaceType = field?.definition.params.spaceType ?? 'ip'
  const hits: SearchHit[] = []
  for (let i = 0; i < found.ordinals.length; i++) {
    const ordinal = found.ordinals[i] as number
    // The square of a distance is given with its sign changed, that of none too.
    const similarity = (found.similarities[i] as number) + 0
    const stored = new StoredParts(replica, ordinal, version)
    // What a dense field found it has, and keeps while the version is pinned.
    const has = task.kind === 'dense' || field?.has(ordinal, version) === true
    const norm = has && field ? field.norm(ordinal) : 1
    const row = has && includeVectors && task.kind !== 'multi' ? field?.row(ordinal) : undefined
    const own = includeVectors ? members?.[i] : undefined
    const rows = own && memberRows(own, replica, at)
    const distance = task.kind !== 'sparse' && spaceType === 'cosine' ? 1 - similarity : 0 - similarity
    hits.push(new Hit(stored, { similarity, distance, norm, row, members: rows, spaceType }))
  }
  return hits
}

/** Where a sparse field found the object its first dense vector is given with it. */
export function vectorFieldOf({ definition }: Replica, task: Task): number {
  return task.kind === 'sparse' ? definition.fields.findIndex(({ kind }) => kind === 'dense') : task.at
}

class Hit implements SearchHit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly norm: number
  readonly row: Float32Array | undefined
  readonly members: readonly DenseRow[] | undefined
  readonly #parts: StoredParts
  readonly #spaceType: SpaceType

  constructor(
    parts: StoredParts,
    of: {
      readonly similarity: number
      readonly distance: number
      readonly norm: number
      readonly row: Float32Array | undefined
      readonly members: readonly DenseRow[] | undefined
      readonly spaceType: SpaceType
    },
  ) {
    this.id = parts.id
    this.similarity = of.similarity
    this.distance = of.distance
    this.norm = of.norm
    this.row = of.row
    this.members = of.members
    this.#parts = parts
    this.#spaceType = of.spaceType
  }

  get meta(): JsonObject | undefined {
    return this.#parts.meta
  }

  get metaBytes(): Uint8Array {
    return this.#parts.metaBytes
  }

  get filter(): JsonObject {
    return this.#parts.filter
  }

  get filterText(): string {
    return this.#parts.filterText
  }

  get vector(): Float32Array | undefined {
    return this.row && scaled(this.row, this.norm, this.#spaceType)
  }

  /** What JSON.stringify and console show. */
  toJSON(): Record<string, unknown> {
    const { id, similarity, distance, norm, meta, filter, vector, members } = this
    const vectors = members?.map((member) => [...member.vector])
    return {
      id,
      similarity,
      distance,
      norm,
      meta,
      filter,
      ...(vector && { vector: [...vector] }),
      ...(vectors && { vectors }),
    }
  }
}
