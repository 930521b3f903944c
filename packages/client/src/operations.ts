// The operations of a transport, with their inputs and results.

import type { BackupInfo, BackupStatus } from './backup-info.ts'
import type { ChangeBatch, ChangesRequest, Cursor, CursorPlace } from './change-info.ts'
import type { CollectionDescription } from './collection-definition.ts'
import type { DatabaseInfo, TokenInfo, TokenType } from './database-info.ts'
import type { IndexDefinition, IndexDescription, IndexSummary } from './definition.ts'
import type {
  Activity,
  ActivityRequest,
  DiffRequest,
  EventPage,
  EventsRequest,
  ObjectChange,
  Undone,
  UndoRequest,
  VersionPage,
  VersionsRequest,
} from './history-info.ts'
import type {
  Acknowledgement,
  AsOf,
  BatchedRequest,
  CalibrateRequest,
  CollectionDefinition,
  ContentOptions,
  DefaultChanges,
  FacetRequest,
  Facets,
  FieldCalibration,
  FieldChanges,
  Filter,
  FilterUpdate,
  JsonObject,
  ObjectPatch,
  RebuildChanges,
  RecallReport,
  RecallRequest,
  ScrollRequest,
  SearchRequest,
  TextMatch,
} from './model.ts'
import type { AliasInfo, BranchInfo, BranchMoment } from './name-info.ts'
import type { RebuildStatus } from './rebuild-status.ts'
import type { Hit, Query, StoredVector, VectorRecord } from './record.ts'
import type { Schedule, ScheduleList, ScheduleOptions } from './schedule-info.ts'
import type { BatchedResult, ScrollPage, SearchResult } from './search.ts'
import type { ObjectInput, ObjectResults, StoredObject } from './stored-object.ts'

/** A setting of a server. */
export interface SettingInfo {
  readonly name: string
  /** The value in use; for secrets and paths on disk, only whether it is set. */
  readonly value: string
  readonly fallback: string
  readonly meaning: string
}

/** A provider of vectors; a field names it in `embed.provider`. */
export interface ProviderInfo {
  readonly name: string
  /** The form of its requests: `openai`, `cohere`, or `voyage`; `function` in an engine in this process. */
  readonly kind: string
  /** Undefined if an engine in this process does not say. */
  readonly model: string | undefined
  /** Number of components of each vector: the dimension of a field with this provider; undefined as for `model`. */
  readonly dimension: number | undefined
}

/** The state of a server. */
export interface Health {
  /** `ok` when the server is fully available; `starting` while it loads stored data. */
  readonly status: string
  /** Other facts that the server reports. */
  readonly details: JsonObject
}

interface Operation<Input, Output> {
  readonly input: Input
  readonly output: Output
}

interface InIndex {
  readonly index: string
}

interface InCollection {
  readonly collection: string
}

export interface SystemOperations {
  health: Operation<undefined, Health>
  stats: Operation<undefined, JsonObject>
  info: Operation<undefined, JsonObject>
  providers: Operation<undefined, readonly ProviderInfo[]>
  configuration: Operation<undefined, readonly SettingInfo[]>
  metrics: Operation<undefined, string>
  logs: Operation<{ readonly limit: number | undefined }, readonly string[]>
  generateLicense: Operation<{ readonly email: string | undefined }, string>
  validateLicense: Operation<{ readonly contents: string }, string>
}

export interface IndexOperations {
  createIndex: Operation<IndexDefinition, undefined>
  listIndexes: Operation<undefined, readonly IndexSummary[]>
  describeIndex: Operation<InIndex, IndexDescription>
  deleteIndex: Operation<InIndex, undefined>
  upsert: Operation<InIndex & { readonly records: readonly VectorRecord[] }, undefined>
  query: Operation<InIndex & { readonly query: Query }, readonly Hit[]>
  get: Operation<InIndex & { readonly id: string }, StoredVector | undefined>
  delete: Operation<InIndex & { readonly id: string }, boolean>
  deleteWhere: Operation<InIndex & { readonly filter: Filter }, number>
  updateFilters: Operation<InIndex & { readonly updates: readonly FilterUpdate[] }, number>
}

export interface CollectionOperations {
  createCollection: Operation<CollectionDefinition, undefined>
  listCollections: Operation<undefined, readonly CollectionDescription[]>
  describeCollection: Operation<InCollection, CollectionDescription>
  deleteCollection: Operation<InCollection, undefined>
  upsertObjects: Operation<
    InCollection & { readonly objects: readonly ObjectInput[]; readonly atomic?: boolean | undefined },
    Acknowledgement & ObjectResults
  >
  patchObjects: Operation<
    InCollection & { readonly patches: readonly ObjectPatch[]; readonly atomic: boolean | undefined },
    Acknowledgement & ObjectResults & { readonly updated: number }
  >
  getMany: Operation<
    InCollection & {
      readonly ids: readonly string[]
      readonly minLsn: number | undefined
      readonly contents?: ContentOptions | undefined
      readonly asOf?: AsOf | undefined
    },
    readonly StoredObject[]
  >
  deleteObject: Operation<InCollection & { readonly id: string; readonly ifLsn?: number | undefined }, boolean>
  deleteObjectsWhere: Operation<InCollection & { readonly filter: Filter }, number>
  updateObjectFilters: Operation<InCollection & { readonly updates: readonly FilterUpdate[] }, number>
  search: Operation<InCollection & { readonly request: SearchRequest }, SearchResult>
  searchBatch: Operation<InCollection & { readonly requests: readonly BatchedRequest[] }, readonly BatchedResult[]>
  countObjects: Operation<
    InCollection & {
      readonly filter: Filter | undefined
      readonly match?: TextMatch | undefined
      readonly asOf?: AsOf | undefined
    },
    number
  >
  facets: Operation<InCollection & { readonly request: FacetRequest }, Facets>
  scroll: Operation<InCollection & { readonly request: ScrollRequest }, ScrollPage>
  recall: Operation<InCollection & { readonly request: RecallRequest }, RecallReport>
  calibrate: Operation<InCollection & { readonly request: CalibrateRequest }, FieldCalibration>
  calibrations: Operation<InCollection, readonly FieldCalibration[]>
  neighbors: Operation<InCollection & { readonly field: string; readonly id: string }, readonly string[]>
  updateFields: Operation<InCollection & { readonly changes: FieldChanges }, Acknowledgement>
  updateDefaults: Operation<InCollection & { readonly changes: DefaultChanges }, Acknowledgement>
  rebuild: Operation<InCollection & { readonly changes: RebuildChanges }, undefined>
  rebuildStatus: Operation<InCollection, RebuildStatus>
  vacuum: Operation<InCollection, number>
  clone: Operation<InCollection & { readonly target: string; readonly keepExpired?: boolean | undefined }, undefined>
  createBackup: Operation<InCollection & { readonly name: string | undefined }, string>
}

export interface NameOperations {
  listAliases: Operation<undefined, readonly AliasInfo[]>
  putAlias: Operation<InCollection & { readonly alias: string }, undefined>
  deleteAlias: Operation<{ readonly alias: string }, undefined>
  branch: Operation<
    InCollection & {
      readonly target: string
      readonly asOf: BranchMoment | undefined
      readonly keepExpired?: boolean | undefined
    },
    undefined
  >
  branches: Operation<InCollection, readonly BranchInfo[]>
  promote: Operation<InCollection & { readonly over: string; readonly keepAs: string }, undefined>
}

export interface BackupOperations {
  listBackups: Operation<undefined, readonly BackupInfo[]>
  backupInfo: Operation<{ readonly backup: string }, BackupInfo>
  backupStatus: Operation<undefined, BackupStatus>
  restoreStatus: Operation<undefined, BackupStatus>
  cancelRestore: Operation<undefined, boolean>
  verifyBackup: Operation<{ readonly backup: string; readonly deep: boolean }, readonly string[]>
  restoreBackup: Operation<
    {
      readonly backup: string
      readonly target: string
      readonly lsn: number | undefined
      readonly time: Date | undefined
      readonly keepExpired?: boolean | undefined
    },
    undefined
  >
  deleteBackup: Operation<{ readonly backup: string }, undefined>
  downloadBackup: Operation<{ readonly backup: string }, ReadableStream<Uint8Array>>
  uploadBackup: Operation<{ readonly backup: string; readonly content: ReadableStream<Uint8Array> | Blob }, undefined>
}

interface InDatabase {
  readonly database: string
}

/** Undefined is the database of the client's own token. */
interface OfDatabase {
  readonly database: string | undefined
}

export interface AdminOperations {
  createDatabase: Operation<InDatabase & { readonly type: string }, string>
  listDatabases: Operation<undefined, readonly DatabaseInfo[]>
  databaseInfo: Operation<InDatabase, DatabaseInfo>
  deleteDatabase: Operation<InDatabase, undefined>
  setDatabaseActive: Operation<InDatabase & { readonly active: boolean }, undefined>
  setDatabaseType: Operation<InDatabase & { readonly type: string }, undefined>
  listDatabaseCollections: Operation<InDatabase, readonly string[]>
  deleteDatabaseCollection: Operation<InDatabase & InCollection, undefined>
  createToken: Operation<OfDatabase & { readonly name: string; readonly type: TokenType }, string>
  listTokens: Operation<OfDatabase, readonly TokenInfo[]>
  deleteToken: Operation<OfDatabase & { readonly name: string }, undefined>
}

export interface HistoryOperations {
  events: Operation<EventsRequest, EventPage>
  activity: Operation<ActivityRequest, Activity>
  versions: Operation<InCollection & { readonly id: string } & VersionsRequest, VersionPage>
  /** The signal also ends what the operation returns. */
  diff: Operation<
    InCollection & DiffRequest & { readonly signal?: AbortSignal | undefined },
    AsyncIterable<ObjectChange>
  >
  undo: Operation<InCollection & UndoRequest, Undone>
}

export interface ChangeOperations {
  /** The signal also ends what the operation returns. */
  changes: Operation<ChangesRequest & { readonly signal?: AbortSignal | undefined }, AsyncIterable<ChangeBatch>>
  listCursors: Operation<undefined, readonly Cursor[]>
  acknowledge: Operation<{ readonly cursor: string; readonly lsn: number }, CursorPlace>
  deleteCursor: Operation<{ readonly cursor: string }, void>
}

export interface ScheduleOperations {
  listSchedules: Operation<undefined, ScheduleList>
  putSchedule: Operation<InCollection & { readonly schedule: ScheduleOptions }, Schedule>
  deleteSchedule: Operation<InCollection, boolean>
}

/** Every operation of a transport, by name, with its input and its output. */
export interface Operations
  extends SystemOperations,
    IndexOperations,
    CollectionOperations,
    BackupOperations,
    AdminOperations,
    HistoryOperations,
    ChangeOperations,
    NameOperations,
    ScheduleOperations {}

/** The name of an operation. */
export type OperationName = keyof Operations
