// The entry of a thread that searches the collections of an engine in another thread. It loads only what a search needs.
export { EngineError, type EngineErrorCode, type ErrorDetails } from './errors.ts'
export type { HitBytes, Reader, ReaderCollection, ReaderHandle, ReaderPlace, ReaderSearch } from './model/reader.ts'
export { attachReader } from './readers/attach-reader.ts'
