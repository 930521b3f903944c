// The parts of a stored object as JSON, for every output format.
import type { JsonObject, StoredObject } from '@annal/client'

export type PlainValue =
  | readonly number[]
  | readonly (readonly number[])[]
  | { readonly indices: readonly number[]; readonly values: readonly number[] }

/** Values of any kind, by field. */
export function fieldsOfObject({ dense, sparse, multi }: StoredObject): { readonly [field: string]: PlainValue } {
  return {
    ...mapped(dense, ({ vector }) => Array.from(vector)),
    ...mapped(sparse, ({ indices, values }) => ({ indices: Array.from(indices), values: Array.from(values) })),
    ...mapped(multi, (vectors) => vectors.map((vector) => Array.from(vector))),
  }
}

/** Bytes have their own key, so that they are read back as bytes. */
export function keptMeta({ meta }: StoredObject): { readonly meta?: JsonObject; readonly meta_base64?: string } {
  return meta instanceof Uint8Array ? { meta_base64: Buffer.from(meta).toString('base64') } : { meta }
}

function mapped<T, U>(from: { readonly [name: string]: T }, change: (value: T) => U): { [name: string]: U } {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}
