// All settings of a server in one table: name, default, bounds, meaning, and whether the value may be shown. config.ts computes
// the configuration from the values. docs/reference/configuration.md lists the same settings, and a test compares both.
import { isIP } from 'node:net'
import {
  asOfLoadedBytesDefault,
  asOfWindowBytesDefault,
  asOfWindowSecondsDefault,
  asOfWindowSecondsMax,
  type EngineOptions,
  limitsConfigurable,
  limitsDefault,
  requestKeyHoursDefault,
  requestKeyHoursMax,
  requestKeysConfigurable,
  requestKeysDefault,
} from '@annal/engine'
import { parseHttpUrl, parseNatsUrl } from './cluster/cluster-config.ts'
import {
  bucket,
  choice,
  flag,
  formed,
  list,
  optionalText,
  type Setting,
  type SettingOf,
  text,
  token,
  whole,
  wholeOrNone,
} from './setting-kinds.ts'

export type { Setting } from './setting-kinds.ts'

const mebibyte = 1024 * 1024

/** When a write is acknowledged. */
export type FsyncPolicy = NonNullable<EngineOptions['fsync']>
/** Minimum level of log lines. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

const fsyncPolicies: readonly FsyncPolicy[] = ['always', 'interval', 'none']
const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
const minuteMs = 60_000

/** In the order of the documentation. */
const settingTable = {
  port: whole('NDD_SERVER_PORT', {
    ...{ fallback: 8080, min: 0, max: 65_535 },
    meaning: 'Port of the HTTP server; 0 lets the system choose.',
  }),
  host: text('NDD_HOST', { fallback: '127.0.0.1', shown: true, meaning: 'Address to listen on.' }),
  allowedHosts: list('NDD_ALLOWED_HOSTS', {
    ...{ parse: parseHost, wanted: 'hosts without scheme and port' },
    meaning:
      'Host names that a server without a token accepts, in addition to IP addresses, `localhost`, and NDD_HOST; comma-separated.',
  }),
  corsOrigins: list('NDD_CORS_ORIGINS', {
    ...{ parse: parseOrigin, wanted: 'origins such as https://app.example.com, one by one' },
    meaning:
      'Origins whose web pages may use the server from a browser: `https://app.example.com`; comma-separated. Empty: none.',
  }),
  trustedProxies: list('NDD_TRUSTED_PROXIES', {
    ...{ parse: parseNetwork, wanted: 'addresses, or networks such as 10.1.0.0/16' },
    meaning:
      'Addresses or networks of proxies whose `X-Forwarded-For` is trusted: `10.0.0.5,10.1.0.0/16`. Empty: a caller has the address of its connection.',
  }),
  dataDir: text('NDD_DATA_DIR', { fallback: './data', meaning: 'Data directory; created if it does not exist.' }),
  authToken: token('NDD_AUTH_TOKEN', {
    meaning: 'Token that every request must send; empty turns authentication off.',
  }),
  rootToken: token('NDD_ROOT_TOKEN', {
    meaning:
      'Token that creates databases and their tokens; turns enterprise mode on. Under 16 characters: loopback only.',
  }),
  licensePublicKey: optionalText('NDD_LICENSE_PUBLIC_KEY', {
    meaning: 'Key that verifies licenses, instead of the built-in key: 32 bytes in base64url.',
  }),
  fsync: choice('NDD_FSYNC', fsyncPolicies, {
    fallback: 'always',
    meaning: 'When a write is acknowledged: `always`, `interval`, or `none`.',
  }),
  threads: wholeOrNone('NDD_NUM_THREADS', {
    ...{ fallback: 0, min: 0, max: 64 },
    meaning: 'Worker threads for graph work, 0 to 64; 0 means one for each core.',
  }),
  serverThreads: wholeOrNone('NDD_NUM_SERVER_THREADS', {
    ...{ fallback: 0, min: 0, max: 64 },
    meaning: 'Threads that serve HTTP, 0 to 64; 0 means one for each core, at most 16. With 1, the main thread serves.',
  }),
  topKMax: whole('NDD_TOP_K_MAX', {
    ...{ fallback: limitsDefault.topKMax, min: 1, max: limitsConfigurable.topKMax },
    meaning: 'Maximum number of results of one query.',
  }),
  batchMax: whole('NDD_BATCH_MAX', {
    ...{ fallback: limitsDefault.batchMax, min: 1, max: limitsConfigurable.batchMax },
    meaning: 'Maximum number of objects in one upsert.',
  }),
  collectionsMax: whole('NDD_COLLECTIONS_MAX', {
    ...{ fallback: limitsDefault.collectionsMax, min: 1, max: limitsConfigurable.collectionsMax },
    meaning: 'Maximum number of collections.',
  }),
  requestKeysMax: whole('NDD_REQUEST_KEYS_MAX', {
    ...{ fallback: requestKeysDefault, min: 1, max: requestKeysConfigurable },
    meaning:
      'Maximum number of request keys (`Idempotency-Key`) that are kept, at about 80 bytes of memory each; the oldest is forgotten first.',
  }),
  requestKeyHours: whole('NDD_REQUEST_KEYS_HOURS', {
    ...{ fallback: requestKeyHoursDefault, min: 1, max: requestKeyHoursMax },
    meaning: 'How long request keys are kept, in hours, by the times of the log.',
  }),
  asOfLoadedMegabytes: whole('NDD_ASOF_LOADED_MB', {
    ...{ fallback: asOfLoadedBytesDefault / mebibyte, min: 0, max: 1_048_576 },
    meaning:
      'Maximum memory of moments that reads of the past (`as_of`) load from checkpoints and the log, in MiB; 0: none are loaded.',
  }),
  asOfSeconds: whole('NDD_ASOF_SECONDS', {
    ...{ fallback: asOfWindowSecondsDefault, min: 0, max: asOfWindowSecondsMax },
    meaning:
      'How much of the recent past collections keep in memory for reads (`as_of`), in seconds; 0: nothing, and every moment is loaded.',
  }),
  asOfMemoryMegabytes: whole('NDD_ASOF_MEMORY_MB', {
    ...{ fallback: asOfWindowBytesDefault / mebibyte, min: 0, max: 1_048_576 },
    meaning:
      'Maximum memory of the recent past of all collections, in MiB; the collection whose past was read least recently drops its past first.',
  }),
  memoryMegabytesMax: wholeOrNone('NDD_MEMORY_MAX_MB', {
    ...{ fallback: 0, min: 0, max: 16_777_216 },
    meaning:
      'Memory that this process may use, in MiB, if that is less than its control group and the machine allow; at least 256. Writes are rejected before it is used up. 0: no limit of its own.',
  }),
  rateLimit: wholeOrNone('NDD_RATE_LIMIT', {
    ...{ fallback: 0, min: 0, max: 1_000_000 },
    meaning: 'Maximum number of requests per second for one token or address; 0 sets no limit.',
  }),
  queryLogPercent: whole('NDD_QUERY_LOG_PERCENT', {
    ...{ fallback: 0, min: 0, max: 100 },
    meaning:
      'Percentage of searches recorded in `queries/` in the data directory, for `annal bench record`; 0 records none.',
  }),
  backupEveryHours: wholeOrNone('NDD_BACKUP_EVERY_HOURS', {
    ...{ fallback: 0, min: 0, max: 8_760 },
    meaning: 'Hours between backups of every collection that changed; 0 makes no scheduled backups.',
  }),
  backupMinutesMax: whole('NDD_BACKUP_MINUTES_MAX', {
    ...{ fallback: limitsDefault.backupMsMax / minuteMs, min: 1, max: limitsConfigurable.backupMsMax / minuteMs },
    meaning: 'Maximum duration of a backup or a restore; after that it is canceled and nothing of it is kept.',
  }),
  backupKeep: whole('NDD_BACKUP_KEEP', {
    ...{ fallback: 7, min: 1, max: 10_000 },
    meaning: 'Number of scheduled backups kept for each collection.',
  }),
  backupCheck: flag('NDD_BACKUP_CHECK', {
    fallback: 'on',
    meaning:
      'Whether each scheduled backup is verified with a test restore: `on` or `off`. Needs the memory of one collection.',
  }),
  backupBucket: bucket('NDD_BACKUP_S3', {
    meaning:
      'Bucket that scheduled backups are also copied to: `s3://BUCKET/PREFIX`; credentials come from the standard `AWS_*` variables.',
  }),
  backupBucketKeep: whole('NDD_BACKUP_S3_KEEP', {
    ...{ fallback: 30, min: 1, max: 100_000 },
    meaning: 'Number of scheduled backups kept in the bucket for each collection.',
  }),
  archiveHours: whole('NDD_ARCHIVE_HOURS', {
    ...{ fallback: 24, min: 0, max: 87_600 },
    meaning: 'How far back any moment can be restored, in hours; 0 keeps no history and removes existing history.',
  }),
  archiveGigabytesMax: whole('NDD_ARCHIVE_MAX_GB', {
    ...{ fallback: 50, min: 1, max: 1_000_000 },
    meaning:
      'Maximum disk space for history; it also never takes more than a tenth of the free space. At the limit, less history is kept.',
  }),
  archiveBucket: bucket('NDD_ARCHIVE_S3', {
    meaning:
      'Bucket that the log and checkpoints are copied to while records are written: `s3://BUCKET/PREFIX`, one prefix for each server.',
  }),
  followBucket: bucket('NDD_FOLLOW_S3', {
    meaning:
      'Archive of another server that this server follows, for reads: the `s3://BUCKET/PREFIX` of its `NDD_ARCHIVE_S3`. After `annal takeover`, this server writes it.',
  }),
  archiveBasesMax: whole('NDD_ARCHIVE_S3_KEEP', {
    ...{ fallback: 7, min: 2, max: 1_000 },
    meaning: 'Number of checkpoints kept in the bucket of `NDD_ARCHIVE_S3`, with the log since the oldest of them.',
  }),
  archiveLagSeconds: whole('NDD_ARCHIVE_LAG_MAX_S', {
    ...{ fallback: 60, min: 1, max: 86_400 },
    meaning:
      'Maximum lag of the bucket of `NDD_ARCHIVE_S3`, or of a server with `NDD_FOLLOW_S3`, in seconds; beyond it, health is `degraded`.',
  }),
  archiveRequired: flag('NDD_ARCHIVE_REQUIRED', {
    fallback: 'off',
    meaning:
      'Whether writes are rejected with `archive_late` while the bucket lags by more than `NDD_ARCHIVE_LAG_MAX_S`: `on` or `off`.',
  }),
  archiveBacklogGigabytes: whole('NDD_ARCHIVE_BACKLOG_MAX_GB', {
    ...{ fallback: 10, min: 1, max: 1_000_000 },
    meaning:
      'Maximum size of the log that waits for the bucket, in GB. Beyond it, writes stop if `NDD_ARCHIVE_REQUIRED=on`; otherwise the archive gets a gap.',
  }),
  acknowledge: choice('NDD_ACK', ['local', 'archive'] as const, {
    fallback: 'local',
    meaning: 'Whether a write is acknowledged when it is on the disk (`local`) or in the bucket too (`archive`).',
  }),
  keepLog: flag('NDD_KEEP_LOG', {
    fallback: 'off',
    meaning:
      'Whether the log is kept from its beginning, for `annal bench record`: `on` or `off`. It grows without limit.',
  }),
  tlsCert: optionalText('NDD_TLS_CERT', {
    meaning: 'Certificate file in PEM format; turns HTTPS on together with NDD_TLS_KEY.',
  }),
  tlsKey: optionalText('NDD_TLS_KEY', { meaning: 'Key file in PEM format, readable by its owner only.' }),
  clusterUrls: list('NDD_CLUSTER_URL', {
    ...{ parse: parseNatsUrl, wanted: 'NATS servers such as tls://nats-1:4222, without user and password' },
    meaning: 'NATS servers that keep the log of a cluster, comma-separated; makes this server a node of a cluster.',
  }),
  clusterName: formed('NDD_CLUSTER_NAME', {
    ...{ fallback: 'annal', wanted: 'up to 32 letters, digits, hyphens, and underscores', shown: true },
    parse: (given) => (/^[A-Za-z0-9_-]{1,32}$/.test(given) ? given : undefined),
    meaning: 'Name of the cluster. Nodes with the same name on the same NATS servers share one log.',
  }),
  nodeName: text('NDD_NODE_NAME', {
    shown: true,
    meaning: 'Name of this node, unique in the cluster. Empty: the name of the host.',
  }),
  nodeUrl: formed('NDD_NODE_URL', {
    ...{ parse: parseHttpUrl, wanted: 'an address such as https://annal-1:8080', shown: true },
    meaning: 'Address of this node for other nodes and for clients. Empty: the address that it listens on.',
  }),
  clusterMonitorUrls: list('NDD_CLUSTER_MONITOR_URL', {
    ...{ parse: parseHttpUrl, wanted: 'addresses such as http://nats-1:8222' },
    meaning:
      'Monitors of the NATS servers, comma-separated: verifies that they sync each message. Empty: health says `unverified`.',
  }),
  clusterCredentials: optionalText('NDD_CLUSTER_CREDENTIALS', {
    meaning: 'File with the credentials of this node for NATS: a `.creds` file, or one line `USER:PASSWORD`.',
  }),
  clusterCa: optionalText('NDD_CLUSTER_CA', {
    meaning: 'File with the certificates, in PEM format, that sign those of the NATS servers; turns TLS on.',
  }),
  clusterReplicas: whole('NDD_CLUSTER_REPLICAS', {
    ...{ fallback: 3, min: 1, max: 5 },
    meaning: 'How many NATS servers keep each record. Use 1 only for trials: records are lost with the disk.',
  }),
  clusterLeaseMs: whole('NDD_CLUSTER_LEASE_MS', {
    ...{ fallback: 3_000, min: 500, max: 60_000 },
    meaning: 'How long a leader may be silent, in milliseconds, until another node takes its place.',
  }),
  clusterWriteMs: whole('NDD_CLUSTER_WRITE_MS', {
    ...{ fallback: 10_000, min: 100, max: 600_000 },
    meaning: 'How long a write waits for the log, in milliseconds, until its reply is `outcome_unknown`.',
  }),
  clusterStalenessMs: whole('NDD_CLUSTER_STALENESS_MS', {
    ...{ fallback: 10_000, min: 1_000, max: 600_000 },
    meaning:
      'How long a node accepts the tokens of databases without hearing from the log, in milliseconds. After that it may have missed a revocation.',
  }),
  clusterFilesBucket: bucket('NDD_CLUSTER_S3', {
    meaning:
      'Bucket for images of restores and clones, backups, and snapshots of a cluster: `s3://BUCKET/PREFIX`, the same for all its nodes. Empty: JetStream keeps them.',
  }),
  clusterFilesMegabytes: whole('NDD_CLUSTER_FILES_MAX_MB', {
    ...{ fallback: 4_096, min: 1, max: 10_000_000 },
    meaning:
      'Maximum size of these files in JetStream, in MB; calls that exceed it get `shared_store_full`. A bucket has no limit.',
  }),
  clusterSnapshotMegabytes: whole('NDD_CLUSTER_SNAPSHOT_MB', {
    ...{ fallback: 64, min: 0, max: 1_000_000 },
    meaning:
      'How much the log of a cluster grows until the next snapshot is made, in MB; at least a quarter of the size of the last snapshot. 0: a snapshot of every change, for trials.',
  }),
  clusterRetentionHours: whole('NDD_CLUSTER_RETENTION_HOURS', {
    ...{ fallback: 24, min: 0, max: 8_760 },
    meaning:
      'How long the log of a cluster is kept for a node that is away, in hours. A node that comes back later begins with a snapshot.',
  }),
  providersFile: text('NDD_PROVIDERS', {
    meaning:
      'JSON file with the providers that compute vectors of texts, by name: their addresses, and the variables that have their keys. Empty: none.',
  }),
  logLevel: choice('NDD_LOG_LEVEL', logLevels, {
    fallback: 'warn',
    meaning: '`trace`, `debug`, `info`, `warn`, `error`, or `silent`.',
  }),
}

/** Every setting, in the order of the documentation. */
export const settings: readonly SettingOf<unknown>[] = Object.values(settingTable)

/** The value of each setting, by its key in the table. */
export type SettingValues = {
  readonly [K in keyof typeof settingTable]: (typeof settingTable)[K] extends SettingOf<infer T> ? T : never
}

/** Environment variables by name. */
export type Environment = { readonly [name: string]: string | undefined }

/** The text of a setting in an environment. Blank and missing values mean the default. */
export function textOf({ name, fallback }: Setting, environment: Environment): string {
  return environment[name]?.trim() || fallback
}

/** Parses every setting and adds problems to `problems`. The value of a rejected setting is unusable. */
export function readSettings(environment: Environment, problems: string[]): SettingValues {
  const entries = Object.entries(settingTable).map(([key, setting]) => {
    const { value, problem } = (setting as SettingOf<unknown>).parse(textOf(setting, environment))
    if (problem !== undefined) problems.push(problem)
    return [key, value]
  })
  // The entries have the keys of the table and the types that its settings parse to.
  return Object.fromEntries(entries) as SettingValues
}

/** Settings of the published server that have no counterpart here. They are accepted and ignored. */
export const settingsWithoutEffect: readonly string[] = [
  'NDD_SERVER_ID',
  'NDD_SERVER_TYPE',
  'NDD_MAX_ELEMENTS',
  'NDD_MAX_ELEMENTS_INCREMENT',
  'NDD_MAX_INCREMENT_TRIGGER',
  'NDD_VECTOR_CACHE_PERCENTAGE',
  'NDD_VECTOR_CACHE_MIN_BITS',
  'NDD_MAX_LIVE_INDICES',
  'NDD_NUM_PARALLEL_INSERTS',
  'NDD_NUM_RECOVERY_THREADS',
  'NDD_MIN_DRAM_MB',
  'NDD_DEBUG_LOG',
  'NDD_INV_IDX_SEARCH_BATCH_SZ',
  'NDD_MAX_ACTIVE_INDICES',
  'NDD_MAX_MEMORY_GB',
  'NDD_USAGE_STATS_URL',
  'NDD_SPARSE_MAP_SIZE_MAX_BITS',
  ...['INDEX_META', 'ID_MAPPER', 'FILTER', 'METADATA', 'VECTOR'].flatMap((map) => [
    `NDD_${map}_MAP_SIZE_BITS`,
    `NDD_${map}_MAP_SIZE_MAX_BITS`,
  ]),
]

function parseHost(entry: string): string | undefined {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(entry) ? entry.toLowerCase() : undefined
}

function parseNetwork(entry: string): string | undefined {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return undefined
  return Number(bits ?? 1) >= 1 && Number(bits ?? 1) <= (family === 4 ? 32 : 128) ? entry : undefined
}

/**
 * An origin as browsers send it in the Origin header: no path and no default port. `null` is rejected, because any page can send
 * it.
 */
function parseOrigin(entry: string): string | undefined {
  const url = URL.parse(entry)
  if (url === null || url.host === '' || url.host.includes('*')) return undefined
  const origin = `${url.protocol}//${url.host}`
  return url.href.replace(/\/$/, '') === origin ? origin : undefined
}
