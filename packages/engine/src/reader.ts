// The entry of a thread that searches the collections of an engine in another thread. It loads only what a search needs.
// What a search over HTTP needs of the engine besides the reader.
export { efDefault, topKDefault } from './defaults.ts'
export { EngineError, type EngineErrorCode, type ErrorDetails } from './errors.ts'
export {
  efMax,
  filterBoostMax,
  prefilterThresholdMax,
  prefilterThresholdMin,
  queryMembersMax,
  searchesMax,
  writtenOverheadBytes,
} from './limits.ts'
export { isCoarse } from './model/choices.ts'
export { MetaBudget } from './model/packed-meta.ts'
export type { HitBytes, Reader, ReaderCollection, ReaderHandle, ReaderPlace, ReaderSearch } from './model/reader.ts'
export { attachReader } from './readers/attach-reader.ts'
