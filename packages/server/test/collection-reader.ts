// A reader over the collection of an engine in the same thread, for tests of what uses readers.
import type { Collection, CollectionSchema, HitBytes, ReaderSearch, SearchResult } from '@annal/engine'
import type { HotReader } from '../src/hot/hot-routes.ts'

/** Searches through the collection, and gives its hits as bytes. */
export function collectionReader(collection: Collection): HotReader {
  return {
    collectionId: 1,
    definition: collection.describe() as CollectionSchema,
    async searchHere(search, write) {
      const result = await collection.search(requestOf(search))
      return write(hitBytes(result, search.field))
    },
  }
}

function requestOf({ field, query, limit, ef, scoreThreshold, ...rest }: ReaderSearch) {
  return {
    fields: { [field]: { query, limit, ef, scoreThreshold } },
    filter: rest.filter,
    exact: rest.exact,
    filterBoostPercentage: rest.boostPercentage,
    prefilterCardinalityThreshold: rest.prefilterThreshold,
  }
}

export function hitBytes({ results, lsn, complete }: SearchResult, field: string): HitBytes {
  const hits = results[field]!
  const ids = hits.map(({ id }) => Buffer.from(id))
  const filters = hits.map(({ filterText }) => Buffer.from(filterText))
  return {
    count: hits.length,
    lsn,
    complete,
    similarity: (hit) => hits[hit]!.similarity,
    distance: (hit) => hits[hit]!.distance,
    norm: (hit) => hits[hit]!.norm,
    idBytes: (hit) => ids[hit]!.length,
    metaBytes: (hit) => hits[hit]!.metaBytes.length,
    filterBytes: (hit) => filters[hit]!.length,
    copyId: (hit, target, offset) => target.set(ids[hit]!, offset),
    copyMeta: (hit, target, offset) => target.set(hits[hit]!.metaBytes, offset),
    copyFilter: (hit, target, offset) => target.set(filters[hit]!, offset),
  }
}
