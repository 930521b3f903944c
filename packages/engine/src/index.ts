export type { FsyncPolicy } from '@annal/wal'
export type { Clock, Collection, Database, Engine, EngineHealth, EngineOptions, EngineStats, Progress } from './api.ts'
export type {
  CollectionDefinition,
  DenseFieldDefinition,
  DenseParams,
  FieldDefinition,
  Precision,
  SpaceType,
  SparseFieldDefinition,
  SparseModel,
} from './definition.ts'
export { openEngine } from './engine.ts'
export { EngineError, type EngineErrorCode, type ErrorDetails } from './errors.ts'
export type { JsonObject, JsonValue } from './json.ts'
export {
  dimensionMax,
  dimensionMin,
  efConstructionDefault,
  efConstructionMax,
  efConstructionMin,
  efDefault,
  efMax,
  fieldsMax,
  filterBoostMax,
  idBytesMax,
  jsonDepthMax,
  type Limits,
  limitsConfigurable,
  limitsDefault,
  mDefault,
  metaBytesMax,
  mMax,
  mMin,
  nameLengthMax,
  prefilterThresholdDefault,
  prefilterThresholdMax,
  prefilterThresholdMin,
  sparseDimensionMax,
  sparseTermsMax,
  topKDefault,
} from './limits.ts'
export type {
  Acknowledgement,
  CollectionDescription,
  DenseRow,
  FieldDescription,
  FieldQuery,
  FieldValue,
  FilterInput,
  ObjectInput,
  SearchHit,
  SearchRequest,
  SearchResult,
  SparseVector,
  StoredObject,
  UnitVector,
} from './object.ts'
