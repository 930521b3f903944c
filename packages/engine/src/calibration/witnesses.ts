// Finds how many rows of a field changed since a measurement, from the rows themselves: a measurement keeps the ids and the hashes of a
// sample of its rows. This is true after a restart as well, and a write that repeats the same vectors is not a change.

import { xxh64 } from '../memory/xxh64.ts'
import type { Replica } from '../replica/replica.ts'
import type { DenseField } from '../vector/field.ts'

/** The share of unchanged rows is known with a standard error of at most .022. */
const witnessesMax = 512

/** A measured row: the id of its object, and the hash of its vector in 16 hexadecimal digits. */
export type Witness = readonly [id: string, hash: string]

/** Rows of a field, evenly spread, or all of them if they are few. */
export async function takeWitnesses(replica: Replica, fieldIndex: number): Promise<readonly Witness[]> {
  await replica.publishing
  const field = replica.dense[fieldIndex] as DenseField
  const { version } = replica
  const ordinals = replica.filters
    .evaluate([])
    .bitmap.toOrdinals()
    .filter((ordinal) => field.has(ordinal, version))
  const count = Math.min(witnessesMax, ordinals.length)
  return Array.from({ length: count }, (_, i) => {
    const ordinal = ordinals[Math.floor((i * ordinals.length) / count)] as number
    return [replica.objects.idAt(ordinal), hashOf(field, ordinal)] as const
  })
}

/** About how many of `rows` rows, of which some are witnesses, were replaced, removed, or added since. */
export async function changedRows(
  replica: Replica,
  fieldIndex: number,
  { rows, witnesses }: { readonly rows: number; readonly witnesses: readonly Witness[] },
): Promise<number> {
  await replica.publishing
  const field = replica.dense[fieldIndex] as DenseField
  const { version } = replica
  const same = witnesses.filter(([id, hash]) => {
    const ordinal = replica.find(id)
    return ordinal >= 0 && field.has(ordinal, version) && hashOf(field, ordinal) === hash
  })
  const kept = witnesses.length === 0 ? 0 : (rows * same.length) / witnesses.length
  return Math.round(Math.max(rows - kept, replica.rowsAt(fieldIndex) - kept))
}

function hashOf(field: DenseField, ordinal: number): string {
  const row = field.row(ordinal) as Float32Array
  return xxh64(new Uint8Array(row.buffer, row.byteOffset, row.byteLength))
    .toString(16)
    .padStart(16, '0')
}
