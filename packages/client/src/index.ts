// @annal/client: the Annal client for browsers and Node.js. Imports no Node.js modules.

export { Databases, License, Tokens } from './admin.ts'
export { Aliases } from './aliases.ts'
export type { BackupInfo, BackupStatus } from './backup-info.ts'
export { Backups, type RestoreOptions, type VerifyOptions, type WatchOptions } from './backups.ts'
export type { LoadOptions, LoadProgress } from './bulk-load.ts'
export type {
  Change,
  ChangeBatch,
  ChangedObject,
  ChangedValue,
  ChangeKind,
  ChangesRequest,
  Cursor,
  CursorPlace,
} from './change-info.ts'
export { Cursors } from './changes.ts'
export { type Chunk, type ChunkBy, type ChunkOptions, chunkText } from './chunking/chunk-text.ts'
export { Client } from './client.ts'
export { Collection } from './collection.ts'
export {
  type CollectionDescription,
  type DenseDescription,
  type DenseOptions,
  defineCollection,
  denseField,
  type EmbedDescription,
  type FieldDescription,
  multiVectorField,
  type SparseDescription,
  sparseField,
  type TextDescription,
  textField,
} from './collection-definition.ts'
export type { RebuildChange } from './collection-graphs.ts'
export { type ConnectOptions, connect } from './connect.ts'
export type { DatabaseInfo, TokenInfo, TokenType } from './database-info.ts'
export type { IndexDefinition, IndexDescription, IndexSummary } from './definition.ts'
export {
  AnnalError,
  type AnnalErrorDetails,
  type ClientErrorCode,
  type EmbedFailure,
  type Reach,
  RequestKeyReusedError,
} from './errors.ts'
export {
  and,
  eq,
  exists,
  filterValuesOf,
  gt,
  gte,
  lt,
  lte,
  ne,
  noneOf,
  not,
  oneOf,
  or,
  range,
} from './filter.ts'
export { History } from './history.ts'
export type {
  Activity,
  ActivityBucket,
  ActivityRequest,
  Author,
  ChangedValues,
  DiffRequest,
  EventPage,
  EventsRequest,
  EventType,
  ObjectChange,
  ObjectVersion,
  PastEvent,
  PastMoment,
  Undone,
  UndoRequest,
  VersionPage,
  VersionsRequest,
} from './history-info.ts'
export type { HttpOptions } from './http/peer.ts'
export { httpTransport } from './http/transport.ts'
export type {
  Acknowledgement,
  AsOf,
  AsOfMoment,
  BatchedRequest,
  CalibratedCurve,
  CalibrateRequest,
  CollectionDefinition,
  ContentOptions,
  CountRequest,
  DefaultChanges,
  DenseFieldDefinition,
  DenseParams,
  EmbeddedQuery,
  EmbedParams,
  ExactDefinition,
  Explanation,
  FacetRequest,
  Facets,
  FieldCalibration,
  FieldChange,
  FieldChanges,
  FieldDefinition,
  FieldExplanation,
  FieldName,
  FieldQuery,
  Fields,
  FieldsOf,
  FieldType,
  Filter,
  FilterCondition,
  FilterOperator,
  FilterUpdate,
  FilterValue,
  FilterValues,
  Fusion,
  FuzzyClause,
  GraphChange,
  GraphFieldName,
  GroupBy,
  Highlight,
  HitGroup,
  JsonObject,
  JsonValue,
  MultiVector,
  MultiVectorFieldDefinition,
  MultiVectorParams,
  ObjectPatch,
  Ordered,
  PhraseClause,
  Pooling,
  Precision,
  PrefixClause,
  RebuildChanges,
  RecallReport,
  RecallRequest,
  ScrollRequest,
  SearchRecall,
  SearchRequest,
  SpaceType,
  SparseFieldDefinition,
  SparseModel,
  SparseParams,
  SparseRow,
  SparseVector,
  Standing,
  StoredQuery,
  TextClause,
  TextCondition,
  TextFieldDefinition,
  TextMatch,
  TextOperator,
  TextParams,
  TextQuery,
  UnknownOption,
  VectorRow,
  WordsClause,
  WriteConditions,
  WriteExpiry,
  WriteResult,
} from './model.ts'
export type { AliasInfo, BranchInfo, BranchMoment } from './name-info.ts'
export type { Health, OperationName, Operations, ProviderInfo, SettingInfo } from './operations.ts'
export type { RebuildStatus } from './rebuild-status.ts'
export type { Hit, Json, Query, StoredVector, VectorRecord } from './record.ts'
export type { Schedule, ScheduleList, ScheduleOptions } from './schedule-info.ts'
export { Schedules } from './schedules.ts'
export type { BatchedResult, FusedHit, ScrollPage, SearchHit, SearchResult } from './search.ts'
export type {
  FieldValue,
  ObjectInput,
  ObjectRecord,
  ObjectResults,
  StoredDense,
  StoredObject,
  StoredSparse,
} from './stored-object.ts'
export type {
  CallOptions,
  ConditionalOptions,
  CopyOptions,
  DeleteOptions,
  GetOptions,
  ReadOptions,
  Transport,
  WriteOptions,
} from './transport.ts'
export { VectorIndex } from './vector-index.ts'
