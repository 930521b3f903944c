// Bytes that a result will take in memory, computed from the sizes of its objects before any of them is copied or read from disk.
import { objectOverheadBytes, vectorOverheadBytes } from '../limits.ts'
import type { AnswerRoom } from '../model/reads.ts'
import type { ReadableReplica } from '../replica/readable.ts'

const floatBytes = 4

/** The room of searches that may run again: bytes that were taken before are not taken twice. */
export class RepeatableRoom implements AnswerRoom {
  readonly #room: AnswerRoom
  #taken = 0
  #used = 0

  constructor(room: AnswerRoom) {
    this.#room = room
  }

  get pageBytesMax(): number {
    return this.#room.pageBytesMax
  }

  get hasLeft(): boolean | undefined {
    return this.#room.hasLeft
  }

  take(bytes: number): void {
    const more = this.#used + bytes - this.#taken
    if (more > 0) {
      this.#room.take(more)
      this.#taken += more
    }
    this.#used += bytes
  }

  /** The searches begin again. */
  repeat(): void {
    this.#used = 0
  }
}

/** Bytes of one hit: meta, filter, and what is wanted of its vector and the texts of its object. */
export function hitBytes(
  { definition: { fields }, objects }: ReadableReplica,
  ordinal: number,
  fieldIndex: number,
  { vectors, texts }: WantedContents = onlyHeads,
): number {
  const definition = fields[fieldIndex]
  const vector = vectors && definition?.kind === 'dense' ? vectorBytes(definition.params) : 0
  // The record includes the texts.
  const record = texts ? objects.recordBytesAt(ordinal) : objects.textBytesAt(ordinal)
  return objectOverheadBytes + record + vector
}

function vectorBytes({ dimension }: { readonly dimension: number }): number {
  return vectorOverheadBytes + dimension * floatBytes
}

/** Bytes of the members of objects in a multi-vector field. */
export function memberBytes(replica: ReadableReplica, ordinals: Iterable<number>, fieldIndex: number): number {
  const definition = replica.definition.fields[fieldIndex]
  const originals = replica.originals[fieldIndex]
  if (definition?.kind !== 'multi' || originals === undefined) return 0
  let vectors = 0
  for (const ordinal of ordinals) vectors += originals.count(ordinal)
  return vectors * vectorBytes(definition.params)
}

/** Which contents of its fields an object is returned with. */
export interface WantedContents {
  readonly vectors: boolean
  readonly texts: boolean
}

export const allContents: WantedContents = { vectors: true, texts: true }
const onlyHeads: WantedContents = { vectors: false, texts: false }

/** Bytes of an object with the wanted contents, at least: id, meta, and filter. */
export function objectBytes(
  replica: ReadableReplica,
  ordinal: number,
  { vectors, texts }: WantedContents = allContents,
): number {
  const { definition, objects } = replica
  if (!vectors && !texts) return objectOverheadBytes + objects.textBytesAt(ordinal)
  // The record includes sparse terms and texts.
  let bytes = objectOverheadBytes + objects.recordBytesAt(ordinal)
  if (!vectors) return bytes
  for (const [index, field] of definition.fields.entries()) {
    if (field.kind === 'dense' && replica.dense[index]?.has(ordinal, replica.version)) {
      bytes += vectorBytes(field.params)
    }
    bytes += memberBytes(replica, [ordinal], index)
  }
  return bytes
}
