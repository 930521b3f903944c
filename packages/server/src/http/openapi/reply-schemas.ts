// The JSON replies of the routes, by name. A test compares every reply of the contract's transcripts with them.
import {
  anyOf,
  constant,
  flag,
  integer,
  type JsonSchema,
  list,
  map,
  number,
  object,
  oneOfTexts,
  orNull,
  ref,
  text,
} from './build.ts'
import { clusterSchema } from './cluster-schemas.ts'

const seconds = 'Seconds since 1970.'
const time = { type: 'string', format: 'date-time' }
const numbers = list(number())
const schedule = {
  collection: text(),
  every_hours: number(),
  keep: integer(),
  check: flag(),
  last_at: orNull(time),
  next_at: orNull(time),
}
const acknowledgement = {
  lsn: integer('Number of the event that the write became.'),
  durable: flag('Whether the write survives a power cut.'),
}
const message = { message: text('A sentence for people.') }
const database = {
  db_name: text(),
  db_type: text('Starter, Pro, Scale, or Enterprise.'),
  is_active: flag(),
  created_at: integer(seconds),
}
const token = { name: text(), token_type: oneOfTexts(['rw', 'r']), created_at: integer(seconds) }
const jobState = oneOfTexts(['idle', 'running', 'completed', 'failed'])
/** The published word for a rebuild that is running. */
const rebuildState = oneOfTexts(['idle', 'in_progress', 'completed', 'failed'])
const jobTimes = { started_at: time, completed_at: time, error: text('The reason of a failure.') }
const graphConfig = orNull(ref('GraphConfig'))
const objectHead = { id: text(), filter: ref('StoredFilter') }
const storedMeta = {
  meta: ref('Meta'),
  meta_base64: text('The stored bytes of meta that is not returned as JSON.'),
  meta_limit: oneOfTexts(['object', 'reply'], 'The limit that the meta exceeds when it is unpacked.'),
}
const hit = {
  ...objectHead,
  similarity: number('Higher is nearer.'),
  distance: number('Lower is nearer.'),
  norm: number(),
}
const member = object({ vector: numbers, norm: number() })
const searchAccount = {
  complete: flag('Whether every field has as many results as requested, or all that exist.'),
  lsn: integer('The newest event that the results reflect.'),
}
const index = {
  name: text(),
  total_elements: integer(),
  dimension: integer(),
  sparse_model: text('None, default, or endee_bm25.'),
  sparse_dim: integer(),
  space_type: text(),
  precision: text(),
  checksum: integer(),
  M: integer(),
  created_at: integer(seconds),
}
const historyProgress = {
  complete: flag('Whether all of the log was read.'),
  segments_read: integer(),
  segments: integer(),
}

const systemReplies = {
  Cluster: clusterSchema,
  Health: object(
    {
      status: oneOfTexts(['starting', 'ok', 'degraded', 'read-only', 'failed', 'closed']),
      timestamp: anyOf([integer('Nanoseconds since 1970, under /api/v1.'), time]),
    },
    {
      reasons: list(text()),
      progress: object(
        {
          job: oneOfTexts(['snapshot-load', 'replay', 'checkpoint']),
          done: number(),
          total: number(),
          unit: oneOfTexts(['bytes', 'records', 'collections']),
        },
        { collection: text() },
      ),
      cluster: ref('Cluster'),
      calibrations: map(integer(), 'Number of measurements of recall by ef, by state.'),
      serving_threads: object({
        running: integer('Threads that accept connections.'),
        configured: integer(),
        lost: integer('Threads that exited unexpectedly.'),
        replaced: integer('Threads that run in the place of a lost one.'),
      }),
    },
  ),
  Stats: object(
    { version: text(), uptime: integer('Seconds.'), total_requests: integer() },
    {
      databases: integer(),
      collections: integer(),
      objects: integer(),
      lsn: object({ applied: integer(), durable: integer(), checkpoint: integer() }),
      log: map(number()),
      backups: object(
        { count: integer(), bytes: integer() },
        {
          newest_age_seconds: integer(),
          archive: object({ bytes: integer(), segments: integer() }),
          restorable_from: object({ lsn: integer(), time }),
          restorable_to: object({ time }),
        },
      ),
      memory: map(integer(), 'Bytes by part.'),
    },
  ),
  ServerInfo: object({
    version: text(),
    mode: oneOfTexts(['plain', 'enterprise']),
    build_arch: text(),
    node: text(),
    machine_id: text('A license may be bound to it.'),
    request_keys: object({ max: integer('Number of request keys that are kept.'), hours: integer('How long.') }),
    license: orNull(ref('License')),
  }),
  UserType: object({ username: text(), user_type: text() }),
  UserInfo: object({
    username: text(),
    user_type: text(),
    is_active: flag(),
    created_at: integer(seconds),
    token_count: integer(),
  }),
  Configuration: object({
    settings: list(object({ name: text(), value: text(), fallback: text(), meaning: text() })),
  }),
  LogLines: object({ count: integer(), lines: list(text(), 'Oldest first.') }),
  OpenApi: { type: 'object', additionalProperties: true, description: 'An OpenAPI document.' },
  License: object({
    license_id: text(),
    plan_type: text(),
    status: oneOfTexts(['active', 'expired']),
    start_date: text('2026-07-10 10:57:32, in UTC.'),
    end_date: text(),
  }),
  LicenseReply: object({ ...message, license: ref('License') }),
} satisfies Schemas

const controlReplies = {
  Database: object(database),
  Databases: object({ dbs: list(ref('Database')) }),
  DatabaseCreated: object({ ...database, db_token: text('In this reply only.'), ...message, ...acknowledgement }),
  DatabaseChanged: object({ ...database, ...message, ...acknowledgement }),
  DatabaseDeleted: object({ db_name: text(), ...message, ...acknowledgement }),
  CollectionNames: object({ collections: list(text()) }),
  CollectionsOfDatabases: object({
    collections: list(object({ db_name: text(), collections: list(text()), count: integer() })),
  }),
  Token: object(token),
  Tokens: object({ tokens: list(ref('Token')) }),
  TokenCreated: object({ ...token, db_token: text('In this reply only.'), ...acknowledgement }),
} satisfies Schemas

const collectionReplies = {
  Acknowledged: object({ ...message, ...acknowledgement }),
  IndexCreated: object({ ...message, name: text() }),
  Index: object(index),
  Indexes: object({ indexes: list(ref('Index')) }),
  IndexInfo: object(
    { ...index, index_name: text(), ef_con: integer(), lib_token: text(), version: integer() },
    { keep_originals: flag() },
  ),
  Collection: object(
    {
      name: text(),
      fields: list(ref('CollectionField')),
      created_at: integer(seconds),
      layout_version: integer(),
      total_elements: integer(),
      max_elements: integer(),
      lsn: integer('The newest event of the collection.'),
      condition: oneOfTexts(['ready', 'loading', 'quarantined']),
      memory: map(integer(), 'Bytes by part.'),
    },
    { reason: text('The reason why the collection is not ready.') },
  ),
  CollectionField: anyOf([
    object({
      name: text(),
      type: oneOfTexts(['vector', 'multi_vector']),
      params: object(
        { dimension: integer(), space_type: text(), precision: text(), M: integer(), ef_con: integer() },
        { keep_originals: flag(), recall: number('Of searches that state none.'), pooling: text() },
      ),
      element_count: integer(),
    }),
    object({
      name: text(),
      type: constant('sparse'),
      sparse_model: text(),
      params: object({ sparse_model: text(), dimension: integer() }),
      element_count: integer(),
    }),
  ]),
  Collections: object({ collections: list(ref('Collection')) }),
} satisfies Schemas

const objectReplies = {
  StoredFilter: { type: 'object', additionalProperties: true, description: 'Stored filter values.' },
  StoredVector: object(
    { ...objectHead, norm: number(), vector: numbers },
    { ...storedMeta, sparse_indices: list(integer()), sparse_values: numbers },
  ),
  StoredObject: object(objectHead, {
    ...storedMeta,
    fields: map(
      anyOf([
        member,
        object({ sparse_indices: list(integer()), sparse_values: numbers }),
        object({ vectors: list(member) }),
      ]),
      'By field, in the form that an upsert accepts.',
    ),
  }),
  Objects: object({ objects: list(ref('StoredObject')) }),
  ObjectPage: object({
    objects: list(ref('StoredObject')),
    cursor: orNull(text('Cursor of the next page; null on the last page.')),
    lsn: integer(),
  }),
  VectorsUpserted: object({ ...message, upserted: integer(), ...acknowledgement }),
  VectorDeleted: object({ ...message, deleted: list(text()), ...acknowledgement }),
  VectorsDeleted: object({ ...message, deleted: integer(), ...acknowledgement }),
  VectorFiltersUpdated: object({ ...message, updated: integer(), ...acknowledgement }),
  ObjectsUpserted: object({ upserted: integer(), ...acknowledgement }),
  ObjectDeleted: object({ deleted: text('The id of the object.'), ...acknowledgement }),
  ObjectsDeleted: object({ deleted: integer(), ...acknowledgement }),
  FiltersUpdated: object({ updated: integer(), ...acknowledgement }),
  Count: object({ count: integer(), lsn: integer() }),
  Facets: object({
    values: list(object({ value: { type: ['string', 'number', 'boolean'] }, count: integer() })),
    distinct: integer('Number of distinct values.'),
    lsn: integer(),
  }),
} satisfies Schemas

const searchReplies = {
  Hit: object(hit, { ...storedMeta, vector: numbers, vectors: list(member) }),
  FusedHit: object(
    {
      ...objectHead,
      score: number(),
      fields: map(object({ rank: integer(), similarity: number() }), 'Rank and similarity in each list with the hit.'),
    },
    storedMeta,
  ),
  IndexSearchResult: object({ ...searchAccount, results: list(ref('Hit')) }, { explain: ref('Explanation') }),
  SearchResult: object(
    { ...searchAccount, results: map(list(ref('Hit')), 'Hits by field, best first.') },
    {
      fused: list(ref('FusedHit')),
      recall: map(ref('SearchRecall'), 'For fields whose query states a recall.'),
      explain: ref('Explanation'),
    },
  ),
  SearchResults: object({ searches: list(ref('SearchResult'), 'In the order of the searches.') }),
  Explanation: object({
    filter: orNull(object({ matches: integer(), ms: number() })),
    fields: map(
      object(
        {
          plan: oneOfTexts(['nothing', 'scan', 'walk', 'lists']),
          reason: text(),
          visited: integer(),
          distances: integer(),
          ms: number(),
        },
        { ef: integer(), costs: object({ scan: number(), walk: number() }), rescored: integer() },
      ),
    ),
    decorate_ms: number(),
    fuse_ms: number(),
    total_ms: number(),
  }),
  Recall: object({
    field: text(),
    sample: integer(),
    recall: number(),
    recall_worst: number(),
    lsn: integer(),
  }),
  SearchRecall: object(
    {
      target: number('The recall that the search states.'),
      ef: integer('The chosen ef.'),
      calibrated: flag('Whether ef was measured on the field as it is. Otherwise it is a careful default.'),
    },
    {
      expected: number('Expected recall, as measured.'),
      reachable: flag('false: no ef reaches the target, and the best measured one was used.'),
    },
  ),
  Calibration: object(
    {
      field: text(),
      limit: integer('Searches with this limit or a smaller one use it.'),
      rescore: flag('Whether results are ordered by their original vectors.'),
      state: oneOfTexts(['none', 'running', 'current', 'outdated', 'failed']),
      received: integer('Number of queries so far that state a recall.'),
    },
    {
      progress: object({ done: integer(), queries: integer() }),
      error: text('Why the newest measurement ended early.'),
      queries: integer('Number of queries of the newest measurement.'),
      source: oneOfTexts(['received', 'rows']),
      rows: integer('Rows of the field when it was measured.'),
      measured_at: integer('Milliseconds since 1970.'),
      took_ms: number('Duration of the newest measurement, including pauses for other work.'),
      curves: list(
        object({
          share: number('Share of matching rows; 1 without a filter.'),
          points: list(object({ ef: integer(), recall: number(), error: number('Standard error of recall.') })),
        }),
      ),
    },
  ),
  Calibrations: object({ calibrations: list(ref('Calibration')) }),
  Neighbors: object({ id: text(), field: text(), neighbors: list(text()) }),
  Links: object({ id: text(), field: text(), links: list(text()) }),
} satisfies Schemas

const rebuildReplies = {
  GraphConfig: object({ M: integer(), ef_con: integer() }),
  IndexRebuildStarted: object({
    status: constant('rebuilding'),
    previous_config: graphConfig,
    new_config: graphConfig,
    total_vectors: integer(),
  }),
  IndexRebuildStatus: object(
    { status: rebuildState },
    { vectors_processed: integer(), total_vectors: integer(), percent_complete: number(), ...jobTimes },
  ),
  RebuildStarted: object({
    status: constant('in_progress'),
    fields_total: integer(),
    total_objects: integer(),
    new_config: graphConfig,
    previous_config: graphConfig,
  }),
  RebuildStatus: object(
    {
      status: rebuildState,
      in_progress: flag(),
      fields_done: integer(),
      fields_total: integer(),
      objects_processed: integer(),
      total_objects: integer(),
      percent_complete: number(),
    },
    {
      collection: text(),
      field: orNull(text()),
      current_config: graphConfig,
      new_config: graphConfig,
      previous_config: graphConfig,
      ...jobTimes,
    },
  ),
  Vacuumed: object({ status: constant('ok'), reclaimed_bytes: integer(), ...acknowledgement }),
} satisfies Schemas

const backupReplies = {
  BackupStarted: object({ backup_name: text(), status: constant('in_progress') }),
  Backup: object({
    original_index: text(),
    original_collection: text(),
    timestamp: integer(seconds),
    size_mb: integer(),
    size_bytes: integer(),
    lsn: integer(),
    log_time: time,
    digest: text(),
    params: object(
      { sparse_model: text(), total_elements: integer(), checksum: integer() },
      {
        M: integer(),
        ef_construction: integer(),
        dim: integer(),
        space_type: text(),
        quant_level: integer(),
        precision: text(),
      },
    ),
    fields: list(
      object({
        name: text(),
        kind: oneOfTexts(['dense', 'sparse', 'multi']),
        params: { type: 'object', additionalProperties: true },
        element_count: integer(),
      }),
    ),
  }),
  Backups: map(ref('Backup'), 'By name.'),
  ActiveBackup: object(
    { active: flag() },
    {
      operation: constant('backup'),
      backup_name: text(),
      index_id: text(),
      collection_id: text(),
      percent_complete: number(),
    },
  ),
  JobStatus: object(
    { status: jobState },
    { backup_name: text(), collection: text(), percent_complete: number(), ...jobTimes },
  ),
  Cancellation: object({ cancelled: flag() }),
  Verification: object({ status: oneOfTexts(['ok', 'damaged']), faults: list(text()) }),
  Uploaded: object({ ...message, backup_name: text() }),
  Message: object(message),
  Restored: object({ ...message, collection: text(), ...acknowledgement }),
  Cloned: object({
    ...message,
    collection: text(),
    content_lsn: integer('The newest event of the source that the clone has.'),
    ...acknowledgement,
  }),
  Schedule: object(schedule),
  ScheduleSet: object({ ...schedule, ...acknowledgement }),
  Schedules: object({
    schedules: list(ref('Schedule')),
    server: orNull(object({ every_hours: number(), keep: integer(), check: flag() })),
  }),
  ScheduleDeleted: object({ deleted: flag() }, acknowledgement),
} satisfies Schemas

const historyReplies = {
  Events: object({
    ...historyProgress,
    events: list(
      object(
        { lsn: integer(), time, type: text(), bytes: integer() },
        {
          collection: text(),
          objects: integer(),
          ids: list(text()),
          fields: list(text()),
          token: text(),
          active: flag(),
        },
      ),
      'Oldest first, without their data.',
    ),
    next: orNull(integer('`from` of the next page.')),
    previous: orNull(integer('`before` of the previous page.')),
  }),
  Activity: object({
    ...historyProgress,
    restorable_from: orNull(object({ lsn: integer(), time })),
    history: orNull(object({ begins: oneOfTexts(['first_record', 'age', 'size', 'disk', 'start']), hours: number() })),
    bucket_seconds: number(),
    buckets: list(
      object({
        time,
        lsn_first: integer(),
        lsn_last: integer(),
        records: integer(),
        bytes: integer(),
        written: integer(),
        deleted: integer(),
        refiltered: integer(),
        changes: integer(),
      }),
    ),
  }),
} satisfies Schemas

interface Schemas {
  readonly [name: string]: JsonSchema
}

export const replySchemas = {
  ...systemReplies,
  ...controlReplies,
  ...collectionReplies,
  ...objectReplies,
  ...searchReplies,
  ...rebuildReplies,
  ...backupReplies,
  ...historyReplies,
}
