// The events of a log for tools that read logs: `@annal/engine/events`.

export type {
  CatalogEvent,
  CollectionCreated,
  CollectionDropped,
  CollectionRebuilt,
  DenseColumn,
  Event,
  FiltersReplaced,
  MultiColumn,
  ObjectEvent,
  ObjectsDeleted,
  ObjectsExpired,
  ObjectsPatched,
  ObjectsRestored,
  ObjectsUpserted,
  SparseColumn,
  TextColumn,
} from '../model/event.ts'
export { filterIn, splitText, storedText, withFilter } from '../model/stored-text.ts'
export { givenVector, vectorForm } from '../model/vector-form.ts'
export { decodeEvent, encodeEvent, isCatalogRecord } from './codec.ts'
