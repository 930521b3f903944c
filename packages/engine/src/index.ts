export type { Collection, Database, Engine, EngineHealth, EngineOptions, EngineStats, Progress } from './api.ts'
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
export { EngineError, type EngineErrorCode, type ErrorDetails } from './errors.ts'
export type { JsonObject, JsonValue } from './json.ts'
export { type Limits, limitsConfigurable, limitsDefault } from './limits.ts'
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
