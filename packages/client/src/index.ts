// @annal/client: the Annal client for browsers and Node.js. Imports no Node.js modules.
export { type DatabaseInfo, Databases, License, type TokenInfo, Tokens, type TokenType } from './admin.ts'
export {
  type BackupInfo,
  type BackupStatus,
  Backups,
  type RestoreOptions,
  type VerifyOptions,
  type WatchOptions,
} from './backups.ts'
export type { LoadOptions, LoadProgress } from './bulk-load.ts'
export { Client } from './client.ts'
export { Collection, type RebuildChange, type RebuildStatus } from './collection.ts'
export {
  type CollectionDefinition,
  type CollectionDescription,
  type DenseFieldDefinition,
  type DenseParams,
  denseField,
  type FieldDefinition,
  type FieldDescription,
  type MultiVectorFieldDefinition,
  multiVectorField,
  type SparseFieldDefinition,
  sparseField,
} from './collection-definition.ts'
export { type ConnectOptions, connect } from './connect.ts'
export type { IndexDefinition, IndexDescription, IndexSummary, Precision, SpaceType } from './definition.ts'
export { AnnalError, type AnnalErrorDetails, type ClientErrorCode } from './errors.ts'
export {
  and,
  eq,
  exists,
  type Filter,
  type FilterCondition,
  type FilterOperator,
  type FilterValue,
  type FilterValues,
  filterValuesOf,
  gt,
  gte,
  lt,
  lte,
  ne,
  noneOf,
  not,
  type Ordered,
  oneOf,
  or,
  range,
} from './filter.ts'
export { type HttpOptions, httpTransport } from './http/transport.ts'
export type { FilterUpdate, Health, OperationName, Operations } from './operations.ts'
export type { Hit, Json, JsonObject, Query, SparseVector, StoredVector, VectorRecord } from './record.ts'
export type {
  FacetRequest,
  Facets,
  FieldQuery,
  FusedHit,
  Fusion,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
  SearchHit,
  SearchRequest,
  SearchResult,
} from './search.ts'
export type {
  Acknowledgement,
  FieldValue,
  ObjectRecord,
  StoredDense,
  StoredObject,
  StoredSparse,
} from './stored-object.ts'
export type { CallOptions, Transport } from './transport.ts'
export { VectorIndex } from './vector-index.ts'
