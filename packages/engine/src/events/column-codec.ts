// Columns of objects to protobuf messages and back. An empty list of objects stands for all of them.
import { assert } from '../errors.ts'
import type { DenseColumn, MultiColumn, SparseColumn, TextColumn } from '../model/event.ts'
import type { Message } from './schema.ts'

/** The protobuf message of a dense column of an upsert with `objects` objects. */
export function denseToMessage(column: DenseColumn, objects: number): Record<string, unknown> {
  return {
    field: column.field,
    objects: column.objects.length === objects ? [] : column.objects,
    vectors: bytesOf(column.vectors),
    norms: bytesOf(column.norms),
    ...(column.forms && { forms: column.forms }),
  }
}

export function denseFromMessage(message: Message, objects: number): DenseColumn {
  return {
    field: message.field,
    objects:
      message.objects.length === 0
        ? Uint32Array.from({ length: objects }, (_, i) => i)
        : Uint32Array.from(message.objects as number[]),
    vectors: new Float32Array(alignedBuffer(message.vectors)),
    norms: new Float32Array(alignedBuffer(message.norms)),
    ...(message.forms.length > 0 && { forms: new Uint8Array(alignedBuffer(message.forms)) }),
  }
}

/** The protobuf message of a sparse column. */
export function sparseToMessage(column: SparseColumn): Record<string, unknown> {
  return { ...column, indices: bytesOf(column.indices), values: bytesOf(column.values) }
}

export function sparseFromMessage(message: Message): SparseColumn {
  return {
    field: message.field,
    objects: Uint32Array.from(message.objects as number[]),
    counts: Uint32Array.from(message.counts as number[]),
    indices: new Uint32Array(alignedBuffer(message.indices)),
    values: new Float32Array(alignedBuffer(message.values)),
  }
}

/** The protobuf message of a text column of an upsert with `objects` objects. */
export function textToMessage({ field, objects: having, texts }: TextColumn, objects: number): Record<string, unknown> {
  return { field, objects: having.length === objects ? [] : having, texts }
}

export function textFromMessage({ field, objects: having, texts }: Message, objects: number): TextColumn {
  const positions = having.length === 0 ? Uint32Array.from({ length: objects }, (_, i) => i) : Uint32Array.from(having)
  assert(positions.length === texts.length, 'a text column has one text for each object')
  return { field, objects: positions, texts }
}

/** The protobuf message of a multi-vector column. */
export function multiToMessage(column: MultiColumn): Record<string, unknown> {
  return { ...column, vectors: bytesOf(column.vectors) }
}

export function multiFromMessage(message: Message): MultiColumn {
  return {
    field: message.field,
    objects: Uint32Array.from(message.objects as number[]),
    counts: Uint32Array.from(message.counts as number[]),
    vectors: new Float32Array(alignedBuffer(message.vectors)),
  }
}

function bytesOf(array: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}

/** Copies the bytes, because the buffer of the payload is reused for later records, and a view needs an alignment of 4. */
function alignedBuffer(bytes: Uint8Array): ArrayBuffer {
  const copy = new Uint8Array(bytes.byteLength)
  copy.set(bytes)
  return copy.buffer
}
