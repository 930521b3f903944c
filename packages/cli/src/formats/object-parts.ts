// The parts of a stored object as JSON, for every output format.
import type { JsonObject, StoredObject } from '@annal/client'

export type PlainValue =
  | string
  | readonly number[]
  | readonly (readonly number[])[]
  | { readonly indices: readonly number[]; readonly values: readonly number[] }

/** Values of any kind, by field. */
export function fieldsOfObject({ dense, sparse, multi, text }: StoredObject): { readonly [field: string]: PlainValue } {
  return {
    ...mapped(dense, ({ vector }) => Array.from(vector)),
    ...mapped(sparse, ({ indices, values }) => ({ indices: Array.from(indices), values: Array.from(values) })),
    ...mapped(multi, (members) => members.map(({ vector }) => Array.from(vector))),
    ...text,
  }
}

/** Bytes have their own key, so that they are read back as bytes. No metadata is an empty object, as in a reply of the server. */
export function keptMeta({ meta, metaBytes }: StoredObject): {
  readonly meta?: JsonObject
  readonly meta_base64?: string
} {
  return metaBytes === undefined ? { meta: meta ?? {} } : { meta_base64: Buffer.from(metaBytes).toString('base64') }
}

/** When the object expires, in the form of RFC 3339; undefined: never. */
export function expiryText({ expiresAt }: StoredObject): string | undefined {
  return expiresAt === undefined ? undefined : new Date(expiresAt).toISOString()
}

function mapped<T, U>(from: { readonly [name: string]: T }, change: (value: T) => U): { [name: string]: U } {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]))
}
