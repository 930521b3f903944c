export type { FsyncPolicy } from '@annal/wal'
export { memoryLimit } from './admission/memory-reading.ts'
export {
  type HeldCheckpoint,
  type HoldCheckpoint,
  holdCheckpoint,
  newestCheckpointLsn,
  newestCheckpointReach,
} from './backup/hold-checkpoint.ts'
export { efConstructionDefault, efDefault, mDefault, topKDefault } from './defaults.ts'
export { openEngine } from './engine.ts'
export { EngineError, type EngineErrorCode, type ErrorDetails } from './errors.ts'
export { checkedActor, writtenBy } from './events/author.ts'
export { parseTimestamp } from './filter/timestamp.ts'
export {
  actorLengthMax,
  asOfLoadedBytesDefault,
  asOfWindowBytesDefault,
  asOfWindowSecondsDefault,
  asOfWindowSecondsMax,
  boostMax,
  dimensionMax,
  dimensionMin,
  editsMax,
  efConstructionMax,
  efConstructionMin,
  efMax,
  expiresAtMax,
  fieldsMax,
  filterBoostMax,
  groupHitsMax,
  idBytesMax,
  jsonDepthMax,
  k1Max,
  type Limits,
  limitsConfigurable,
  limitsDefault,
  membersMax,
  metaAnswerPlainBytesMax,
  metaBytesMax,
  metaPlainBytesMax,
  mMax,
  mMin,
  nameLengthMax,
  prefilterThresholdMax,
  prefilterThresholdMin,
  queryMembersMax,
  recallTargetMax,
  recallTargetMin,
  requestKeyHoursDefault,
  requestKeyHoursMax,
  requestKeyLengthMax,
  requestKeysConfigurable,
  requestKeysDefault,
  searchesMax,
  slopMax,
  sparseDimensionMax,
  sparseTermsMax,
  textBytesMax,
  textClausesMax,
  textQueryBytesMax,
  textTermsMax,
  ttlSecondsMax,
  wordListMax,
  wordPrefixMax,
} from './limits.ts'
export type { PastCollection } from './model/as-of.ts'
export type { BackupInfo, Backups, JobStatus, Moment } from './model/backups.ts'
export type {
  CalibratedCurve,
  CalibrateRequest,
  CalibrationCounts,
  FieldCalibration,
  SearchRecall,
} from './model/calibration.ts'
export type {
  Change,
  ChangeBatch,
  ChangedObject,
  ChangedValue,
  ChangeKind,
  ChangeStream,
  ChangesRequest,
  Cursor,
  Cursors,
  PlaceNotice,
  RecordedChange,
} from './model/changes.ts'
export { poolings, precisions, spaceTypes, sparseModels } from './model/choices.ts'
export type {
  Collection,
  DefaultChanges,
  FieldChange,
  FieldChanges,
  GraphChange,
  RebuildChanges,
  RebuildStatus,
} from './model/collection.ts'
export type { ControlChange, ControlPlane, TokenDescription, TokenOwner } from './model/control.ts'
export type { Database, DatabaseDescription } from './model/database.ts'
export {
  type DatabaseType,
  databaseTypes,
  type TokenFacts,
  type TokenKind,
  tokenKinds,
} from './model/database-facts.ts'
export {
  type CollectionDefinition,
  type DenseFieldDefinition,
  type DenseParams,
  defineCollection,
  type EmbedParams,
  type ExactDefinition,
  type FieldDefinition,
  type FieldsOf,
  type MultiVectorFieldDefinition,
  type MultiVectorParams,
  type SparseFieldDefinition,
  type SparseParams,
  type TextFieldDefinition,
  type TextParams,
  type UnknownOption,
} from './model/definition.ts'
export type { EmbedFunction, EmbedProvider, EmbedPurpose, EmbedRequest, ProviderInfo } from './model/embed.ts'
export type { Clock, Engine, EngineOptions, GraphThreadOptions, ReceivedSearch } from './model/engine.ts'
export type { EngineHealth, EngineStats, HistoryReach, Progress } from './model/engine-stats.ts'
export type { FieldName, Fields, FieldType, GraphFieldName } from './model/fields.ts'
export type {
  Filter,
  FilterCondition,
  FilterInput,
  FilterOperator,
  FilterValue,
  FilterValues,
  Ordered,
} from './model/filter.ts'
export type {
  Activity,
  ActivityBucket,
  ActivityRequest,
  ChangedValues,
  DiffRequest,
  EventPage,
  EventsRequest,
  History,
  HistoryProgress,
  ObjectChange,
  ObjectVersion,
  PastEvent,
  Undone,
  UndoRequest,
  VersionPage,
  VersionsRequest,
} from './model/history.ts'
export type { JsonObject, JsonValue } from './model/json.ts'
export type { AsOf, AsOfMoment, AsOfOptions, AsOfReach, PastState } from './model/moment.ts'
export type { AliasDescription, BranchDescription, BranchRequest, Promotion } from './model/names.ts'
export type {
  Acknowledgement,
  CollectionDescription,
  ConditionalReply,
  DenseRow,
  FieldDescription,
  FieldValue,
  FieldValues,
  FilterUpdate,
  MultiVector,
  ObjectInput,
  ObjectPatch,
  SparseRow,
  SparseVector,
  StoredObject,
  UnitVector,
  VectorRow,
  WriteConditions,
  WriteExpiry,
  WriteResult,
} from './model/object.ts'
export { decodeMeta, MetaBudget, packMeta, type ReadMeta } from './model/packed-meta.ts'
export {
  type BatchedRequest,
  type EmbeddedQuery,
  type FieldQuery,
  type Fusion,
  type FuzzyClause,
  type GroupBy,
  type Highlight,
  type PhraseClause,
  type PrefixClause,
  type QueryValues,
  type SearchRequest,
  type StoredQuery,
  type TextClause,
  type TextCondition,
  type TextMatch,
  type TextOperator,
  type TextQuery,
  textOperators,
  type WordsClause,
} from './model/query.ts'
export type { HitBytes, ReaderCollection, ReaderHandle, ReaderSearch } from './model/reader.ts'
export type {
  AnswerRoom,
  ContentOptions,
  CountRequest,
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
} from './model/reads.ts'
export type {
  Author,
  ConditionalOptions,
  DeleteOptions,
  KeyedRequest,
  RecordedRequest,
  RequestClaim,
  RequestFacts,
  RequestKeyStats,
  RequestKeys,
  RestoreOptions,
  WriteOptions,
} from './model/requests.ts'
export {
  type CollectionSchema,
  type DenseFieldSchema,
  type DenseSchemaParams,
  type EmbedSchema,
  type FieldSchema,
  hasLists,
  type ListFieldSchema,
  type MultiFieldSchema,
  type Pooling,
  type Precision,
  type SpaceType,
  type SparseFieldSchema,
  type SparseModel,
  type TextFieldSchema,
  type TextSchemaParams,
} from './model/schema.ts'
export type {
  BatchedResult,
  Explanation,
  FieldExplanation,
  FusedHit,
  HitGroup,
  SearchHit,
  SearchResult,
  Standing,
} from './model/search-result.ts'
export { asOfBatch, asOfPage } from './past/parse-as-of.ts'
export { type RestoreDataDirectory, restoreDataDirectory } from './restore-data-directory.ts'
export { memoriesMax as fieldsWithDataMax } from './vector/address-space.ts'
export {
  type CheckedCheckpoints,
  type CheckpointCheck,
  type CheckpointFault,
  checkCheckpoints,
} from './verify/check-checkpoints.ts'
export { type ArchiveReport, type VerifyArchiveOptions, verifyArchive } from './verify/verify-archive.ts'
export {
  type DirectoryFinding,
  type DirectoryProgress,
  type DirectoryReport,
  type DirectoryState,
  type VerifyDirectoryOptions,
  verifyDataDirectory,
} from './verify/verify-directory.ts'
