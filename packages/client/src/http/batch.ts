// The body of an upsert: a MessagePack array of [id, meta, filter, norm, vector], and two more entries for sparse terms. The norm is
// nil: vectors travel as they are, and come back so.

import { AnnalError } from '../errors.ts'
import { packMeta } from '../packed-meta.ts'
import type { VectorRecord } from '../record.ts'
import { jsonText } from './json-text.ts'
import { MessageWriter } from './message-writer.ts'
import { checkNumbers, checkSparse } from './vector.ts'

export function encodeBatch(records: readonly VectorRecord[]): Uint8Array<ArrayBuffer> {
  if (!Array.isArray(records))
    throw new AnnalError('invalid_argument', 'upsert expects an array of objects', { field: 'records' })
  const writer = new MessageWriter(bytesExpected(records))
  writer.arrayHeader(records.length)
  for (const [i, record] of records.entries()) writeRecord(writer, record, `records[${i}]`)
  return writer.finish()
}

function writeRecord(writer: MessageWriter, record: VectorRecord, field: string): void {
  checkId(record.id, `${field}.id`)
  checkNumbers(record.vector, `${field}.vector`)
  writer.arrayHeader(record.sparse === undefined ? 5 : 7)
  writer.text(record.id)
  writer.binary(packMeta(record.meta, `${field}.meta`))
  writer.text(jsonText(record.filter ?? {}, `${field}.filter`))
  writer.nil()
  writer.float32Array(record.vector)
  if (record.sparse === undefined) return
  checkSparse(record.sparse, `${field}.sparse`)
  writer.uint32Array(record.sparse.indices)
  writer.float32Array(record.sparse.values)
}

/** The server validates all other rules for ids. */
export function checkId(id: unknown, field: string): void {
  if (typeof id !== 'string')
    throw new AnnalError('invalid_argument', `${field} must be a string`, { field, value: id })
  if (!id.isWellFormed()) {
    throw new AnnalError('invalid_argument', `${field} contains an unpaired surrogate`, { field, value: id })
  }
}

/** Five bytes per number, and some for the rest; the writer grows if necessary. */
function bytesExpected(records: readonly VectorRecord[]): number {
  return records.reduce((sum, record) => sum + (record?.vector?.length ?? 0) * 5 + 128, 16)
}
