// Replies about the server, and about its databases and their tokens.
import { providerKinds } from '../../../embed/shapes.ts'
import { anyOf, flag, integer, list, map, number, object, oneOfTexts, orNull, ref, text } from '../build.ts'
import { clusterDigestsSchema, clusterSchema, digestRequestSchema } from '../cluster-schemas.ts'
import { acknowledgement, message, type Schemas, seconds, time } from './parts.ts'

const database = {
  db_name: text(),
  db_type: text('Starter, Pro, Scale, or Enterprise.'),
  is_active: flag(),
  created_at: integer(seconds),
}
const token = { name: text(), token_type: oneOfTexts(['rw', 'r']), created_at: integer(seconds) }
export const systemReplies = {
  Cluster: clusterSchema,
  ClusterDigests: clusterDigestsSchema,
  DigestRequest: digestRequestSchema,
  Health: object(
    {
      status: oneOfTexts(['starting', 'ok', 'degraded', 'read-only', 'failed', 'closed']),
      timestamp: anyOf([integer('Nanoseconds since 1970, under /api/v1.'), time]),
    },
    {
      reasons: list(text()),
      progress: object(
        {
          job: oneOfTexts(['snapshot-download', 'snapshot-load', 'replay', 'checkpoint']),
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
        replaced: integer('Threads that were started to replace a lost one.'),
      }),
      follow: object(
        {
          from: text(),
          role: oneOfTexts(['follower', 'writer']),
          lsn: integer('Every record up to it is applied.'),
          lag_seconds: number(),
        },
        { trouble: text() },
      ),
    },
  ),
  AsOfStatus: object({
    moments: list(
      object(
        {
          collection: text(),
          lsn: orNull(integer('The record of the moment; null until it is known.')),
          status: oneOfTexts(['loading', 'loaded', 'failed']),
          bytes_done: integer(),
          bytes: integer('Bytes to read; 0 until they are known.'),
          memory: integer('Bytes of memory that the loaded moment takes.'),
        },
        { error: text() },
      ),
    ),
  }),
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
  Providers: object({
    providers: list(
      object({
        name: text('Name of the provider, for embed.provider of a field.'),
        kind: oneOfTexts(providerKinds),
        model: text(),
        dimension: integer('Number of components of each vector: the dimension of a field with this provider.'),
      }),
      'Sorted by name.',
    ),
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

export const controlReplies = {
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
