// Objects of a collection: pages, reads, writes, counts and values of keys.
import { type CallOptions, call, objectPath, segment } from './request.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export interface JsonMap {
  readonly [key: string]: Json
}

export interface DenseValue {
  readonly vector: readonly number[]
  readonly norm?: number
}

export interface SparseValue {
  readonly sparse_indices: readonly number[]
  readonly sparse_values: readonly number[]
}

export interface MultiValue {
  readonly vectors: readonly (readonly number[])[]
}

export interface StoredObject {
  readonly id: string
  readonly meta?: Json
  readonly meta_base64?: string
  /** The limit that left stored JSON packed: the limit per object or the limit per reply. */
  readonly meta_limit?: 'object' | 'reply'
  readonly filter: JsonMap
  /** The value of a text field is the text. */
  readonly fields: { readonly [field: string]: DenseValue | MultiValue | SparseValue | string }
}

/** Without the vectors of its fields, which a list does not show and which are most of its size. */
export interface ListedObject extends Omit<StoredObject, 'fields'> {
  readonly fields?: StoredObject['fields']
}

export interface Page<T> {
  readonly objects: readonly T[]
  readonly cursor: string | null
  readonly lsn: number
}

export interface Facets {
  readonly values: readonly { readonly value: string | number | boolean; readonly count: number }[]
  readonly distinct: number
}

/** Conditions that must all hold; see docs/reference/filters.md. */
export type Filter = readonly JsonMap[]

const pathOf = (collection: string) => `/api/v2/collection/${segment(collection)}`

interface PageWish {
  readonly filter?: Filter
  readonly limit: number
  readonly cursor?: string | undefined
}

export const scroll = (collection: string, page: PageWish, options?: CallOptions) =>
  call<Page<StoredObject>>('POST', `${pathOf(collection)}/objects/scroll`, { body: page, ...options })

/** Pages without vectors. */
export const listObjects = (
  collection: string,
  { texts, ...page }: PageWish & { readonly texts: boolean },
  options?: CallOptions,
) =>
  call<Page<ListedObject>>('POST', `${pathOf(collection)}/objects/scroll`, {
    body: { ...page, include_vectors: false, include_texts: texts },
    ...options,
  })

export const count = async (collection: string, filter: Filter, options?: CallOptions) =>
  (await call<{ count: number }>('POST', `${pathOf(collection)}/objects/count`, { body: { filter }, ...options })).count

export const facets = (
  collection: string,
  request: { readonly key: string; readonly limit: number; readonly filter?: Filter },
  options?: CallOptions,
) => call<Facets>('POST', `${pathOf(collection)}/facets`, { body: request, ...options })

export async function getMany(collection: string, ids: readonly string[], options?: CallOptions) {
  const reply = await call<{ objects: readonly StoredObject[] }>('POST', `${pathOf(collection)}/objects/query`, {
    body: { ids },
    ...options,
  })
  return reply.objects
}

export const upsert = (collection: string, objects: readonly unknown[], options?: CallOptions) =>
  call<{ upserted: number; lsn: number }>('POST', `${pathOf(collection)}/objects`, { body: { objects }, ...options })

export const updateFilter = (collection: string, id: string, filter: JsonMap) =>
  call<{ updated: number }>('POST', `${pathOf(collection)}/filters`, { body: { updates: [{ id, filter }] } })

export const deleteObject = (collection: string, id: string) =>
  call<object>('DELETE', objectPath(`${pathOf(collection)}/objects`, id))

export const deleteWhere = (collection: string, filter: Filter) =>
  call<{ deleted: number }>('DELETE', `${pathOf(collection)}/objects`, { body: { filter } })

export const links = (collection: string, id: string, field: string, options?: CallOptions) =>
  call<{ links: readonly string[] }>(
    'GET',
    objectPath(`${pathOf(collection)}/objects`, id, `/field/${segment(field)}/links`),
    options,
  )
