// The settings of a server, read once from NDD_ environment variables and checked before anything is opened. The table in
// docs/reference/configuration.md says the same; a test compares.
import { isIP } from 'node:net'
import { type EngineOptions, limitsConfigurable, limitsDefault } from '@annal/engine'
import { type BucketPlace, parseBucketPlace } from './backups/bucket-place.ts'
import { isPublicKey } from './license/license-file.ts'
import { vendorPublicKey } from './license/public-key.ts'

export type FsyncPolicy = NonNullable<EngineOptions['fsync']>
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface Config {
  readonly host: string
  /** 0 lets the system choose one. */
  readonly port: number
  /** Names besides IP addresses, `localhost` and `host` that the server may be addressed by where it asks for no token. */
  readonly allowedHosts: readonly string[]
  /** Origins whose web pages may use the server: `https://app.example.com`. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[]
  readonly dataDir: string
  /** Undefined: everybody may do everything. */
  readonly authToken: string | undefined
  /** Given: databases with tokens of their own, and a license. */
  readonly rootToken: string | undefined
  /** Undefined: the one that is built in. */
  readonly licensePublicKey: string | undefined
  readonly fsync: FsyncPolicy
  /** Undefined: the engine chooses by the number of cores. */
  readonly threads: number | undefined
  readonly topKMax: number
  readonly batchMax: number
  readonly backupMsMax: number
  readonly collectionsMax: number
  /** Requests a second and caller; undefined: as many as they like. */
  readonly rateLimit: number | undefined
  /** Share of searches that are written down, 0 to 100. */
  readonly queryLogPercent: number
  /** Hours between scheduled backups; undefined: none. */
  readonly backupEveryHours: number | undefined
  readonly backupKeep: number
  readonly backupCheck: boolean
  /** Where scheduled backups are carried as well; undefined: nowhere. */
  readonly backupBucket: BucketPlace | undefined
  readonly backupBucketKeep: number
  /** A `maxAgeMs` of 0: nothing is archived. */
  readonly archive: NonNullable<EngineOptions['archive']>
  /** Nothing of the log is ever given up. */
  readonly keepLog: boolean
  readonly logLevel: LogLevel
  /** Files in PEM form; both or none. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** Where traces are sent; undefined: nowhere. */
  readonly tracesUrl: string | undefined
  /** Every setting as it was given, for people; of secrets and of places on disk only whether they are set. */
  readonly inForce: readonly SettingInForce[]
}

export interface SettingInForce {
  readonly name: string
  readonly value: string
}

export interface ConfigRead {
  readonly config: Config
  /** One sentence each, for the operator. */
  readonly warnings: readonly string[]
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

export interface Setting {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
}

const minuteMs = 60_000
/** Of the free disk, that history may take. */
const archiveFreeShareMax = 0.1

/** Every setting there is, in the order the documentation lists them. */
export const settings: readonly Setting[] = [
  { name: 'NDD_SERVER_PORT', fallback: '8080', meaning: 'Port of the HTTP server; 0 lets the system choose.' },
  { name: 'NDD_HOST', fallback: '127.0.0.1', meaning: 'Address to listen on.' },
  {
    name: 'NDD_ALLOWED_HOSTS',
    fallback: '',
    meaning:
      'Host names that a server without a token accepts, in addition to IP addresses, `localhost`, and NDD_HOST; comma-separated.',
  },
  {
    name: 'NDD_CORS_ORIGINS',
    fallback: '',
    meaning:
      'Origins whose web pages may use the server from a browser: `https://app.example.com`; comma-separated. Empty: none.',
  },
  {
    name: 'NDD_TRUSTED_PROXIES',
    fallback: '',
    meaning:
      'Addresses or networks of proxies whose `X-Forwarded-For` is trusted: `10.0.0.5,10.1.0.0/16`. Empty: a caller has the address of its connection.',
  },
  { name: 'NDD_DATA_DIR', fallback: './data', meaning: 'Data directory; created if it does not exist.' },
  {
    name: 'NDD_AUTH_TOKEN',
    fallback: '',
    meaning: 'Token that every request must send; empty turns authentication off.',
  },
  {
    name: 'NDD_ROOT_TOKEN',
    fallback: '',
    meaning:
      'Token that creates databases and their tokens; turns enterprise mode on. Under 16 characters: loopback only.',
  },
  {
    name: 'NDD_LICENSE_PUBLIC_KEY',
    fallback: '',
    meaning: 'Key that verifies licenses, instead of the built-in key: 32 bytes in base64url.',
  },
  { name: 'NDD_FSYNC', fallback: 'always', meaning: 'When a write is acknowledged: `always`, `interval`, or `none`.' },
  {
    name: 'NDD_NUM_THREADS',
    fallback: '0',
    meaning: 'Worker threads for graph work, 0 to 64; 0 means one for each core.',
  },
  {
    name: 'NDD_TOP_K_MAX',
    fallback: String(limitsDefault.topKMax),
    meaning: 'Maximum number of results of one query.',
  },
  {
    name: 'NDD_BATCH_MAX',
    fallback: String(limitsDefault.batchMax),
    meaning: 'Maximum number of objects in one upsert.',
  },
  {
    name: 'NDD_COLLECTIONS_MAX',
    fallback: String(limitsDefault.collectionsMax),
    meaning: 'Maximum number of collections.',
  },
  {
    name: 'NDD_RATE_LIMIT',
    fallback: '0',
    meaning: 'Maximum number of requests per second for one token or address; 0 sets no limit.',
  },
  {
    name: 'NDD_QUERY_LOG_PERCENT',
    fallback: '0',
    meaning:
      'Percentage of searches recorded in `queries/` in the data directory, for `annal bench record`; 0 records none.',
  },
  {
    name: 'NDD_BACKUP_EVERY_HOURS',
    fallback: '0',
    meaning: 'Hours between backups of every collection that changed; 0 makes no scheduled backups.',
  },
  {
    name: 'NDD_BACKUP_MINUTES_MAX',
    fallback: String(limitsDefault.backupMsMax / minuteMs),
    meaning: 'Maximum duration of a backup or a restore; after that it is canceled and nothing of it is kept.',
  },
  { name: 'NDD_BACKUP_KEEP', fallback: '7', meaning: 'Number of scheduled backups kept for each collection.' },
  {
    name: 'NDD_BACKUP_CHECK',
    fallback: 'on',
    meaning:
      'Whether each scheduled backup is verified with a test restore: `on` or `off`. Needs the memory of one collection.',
  },
  {
    name: 'NDD_BACKUP_S3',
    fallback: '',
    meaning:
      'Bucket that scheduled backups are also copied to: `s3://BUCKET/PREFIX`; credentials come from the standard `AWS_*` variables.',
  },
  {
    name: 'NDD_BACKUP_S3_KEEP',
    fallback: '30',
    meaning: 'Number of scheduled backups kept in the bucket for each collection.',
  },
  {
    name: 'NDD_ARCHIVE_HOURS',
    fallback: '24',
    meaning: 'How far back any moment can be restored, in hours; 0 keeps no history and removes existing history.',
  },
  {
    name: 'NDD_ARCHIVE_MAX_GB',
    fallback: '50',
    meaning:
      'Maximum disk space for history; it also never takes more than a tenth of the free space. At the limit, less history is kept.',
  },
  {
    name: 'NDD_KEEP_LOG',
    fallback: 'off',
    meaning:
      'Whether the log is kept from its beginning, for `annal bench record`: `on` or `off`. It grows without limit.',
  },
  {
    name: 'NDD_TLS_CERT',
    fallback: '',
    meaning: 'Certificate file in PEM format; turns HTTPS on together with NDD_TLS_KEY.',
  },
  { name: 'NDD_TLS_KEY', fallback: '', meaning: 'Key file in PEM format, readable by its owner only.' },
  { name: 'NDD_LOG_LEVEL', fallback: 'warn', meaning: '`trace`, `debug`, `info`, `warn`, `error`, or `silent`.' },
]

/** The settings whose values may be shown; of every other, and of those yet to come, only whether it is set. */
const settingsShown: ReadonlySet<string> = new Set([
  'NDD_SERVER_PORT',
  'NDD_HOST',
  'NDD_ALLOWED_HOSTS',
  'NDD_CORS_ORIGINS',
  'NDD_TRUSTED_PROXIES',
  'NDD_FSYNC',
  'NDD_NUM_THREADS',
  'NDD_TOP_K_MAX',
  'NDD_BATCH_MAX',
  'NDD_COLLECTIONS_MAX',
  'NDD_RATE_LIMIT',
  'NDD_BACKUP_EVERY_HOURS',
  'NDD_BACKUP_MINUTES_MAX',
  'NDD_BACKUP_KEEP',
  'NDD_BACKUP_CHECK',
  'NDD_BACKUP_S3_KEEP',
  'NDD_ARCHIVE_HOURS',
  'NDD_ARCHIVE_MAX_GB',
  'NDD_KEEP_LOG',
  'NDD_QUERY_LOG_PERCENT',
  'NDD_LOG_LEVEL',
])

/** Settings of the published server that have no counterpart here. They are taken without complaint. */
export const settingsWithoutEffect: readonly string[] = [
  'NDD_NUM_SERVER_THREADS',
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

const fsyncPolicies: readonly FsyncPolicy[] = ['always', 'interval', 'none']
const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
const tokenShort = 16
/** What installers of the published server write when nobody chooses. */
const rootTokenDefault = 'unsafe_root_token'
const loopback = '127.0.0.1'

type Environment = { readonly [name: string]: string | undefined }

/** Throws ConfigError with every problem at once. */
export function readConfig(environment: Environment): ConfigRead {
  const problems: string[] = []
  const text = (name: string): string => {
    const given = environment[name]?.trim()
    return given === undefined || given === ''
      ? (settings.find((setting) => setting.name === name)?.fallback ?? '')
      : given
  }
  const whole = (name: string, min: number, max: number): number => {
    const value = /^\d{1,9}$/.test(text(name)) ? Number(text(name)) : Number.NaN
    if (!(value >= min && value <= max))
      problems.push(`${name} must be a whole number from ${min} to ${max}, not "${text(name)}"`)
    return value
  }
  const oneOf = <T extends string>(name: string, choices: readonly T[]): T => {
    const found = choices.find((choice) => choice === text(name).toLowerCase())
    if (found === undefined) problems.push(`${name} must be one of ${choices.join(', ')}, not "${text(name)}"`)
    return found ?? choices[0]!
  }
  const list = (name: string, parse: (entry: string) => string | undefined, wanted: string): string[] => {
    const entries = text(name)
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
    return entries.flatMap((entry) => {
      const parsed = parse(entry)
      if (parsed === undefined) problems.push(`${name} must name ${wanted}, not "${entry}"`)
      return parsed ?? []
    })
  }
  const rateLimit = whole('NDD_RATE_LIMIT', 0, 1_000_000)
  const threads = whole('NDD_NUM_THREADS', 0, 64)
  const backupEveryHours = whole('NDD_BACKUP_EVERY_HOURS', 0, 8_760)
  const archiveHours = whole('NDD_ARCHIVE_HOURS', 0, 87_600)
  const archiveBytesMax = whole('NDD_ARCHIVE_MAX_GB', 1, 1_000_000) * 1_000_000_000
  const config: Config = {
    host: text('NDD_HOST'),
    port: whole('NDD_SERVER_PORT', 0, 65_535),
    allowedHosts: list('NDD_ALLOWED_HOSTS', parseHost, 'hosts without scheme and port'),
    corsOrigins: list('NDD_CORS_ORIGINS', parseOrigin, 'origins such as https://app.example.com, one by one'),
    trustedProxies: list('NDD_TRUSTED_PROXIES', parseNetwork, 'addresses, or networks such as 10.1.0.0/16'),
    dataDir: text('NDD_DATA_DIR'),
    authToken: text('NDD_AUTH_TOKEN') || undefined,
    rootToken: text('NDD_ROOT_TOKEN') || undefined,
    licensePublicKey: text('NDD_LICENSE_PUBLIC_KEY') || undefined,
    fsync: oneOf('NDD_FSYNC', fsyncPolicies),
    threads: threads === 0 ? undefined : threads,
    topKMax: whole('NDD_TOP_K_MAX', 1, limitsConfigurable.topKMax),
    batchMax: whole('NDD_BATCH_MAX', 1, limitsConfigurable.batchMax),
    backupMsMax: whole('NDD_BACKUP_MINUTES_MAX', 1, limitsConfigurable.backupMsMax / minuteMs) * minuteMs,
    collectionsMax: whole('NDD_COLLECTIONS_MAX', 1, limitsConfigurable.collectionsMax),
    rateLimit: rateLimit === 0 ? undefined : rateLimit,
    backupEveryHours: backupEveryHours === 0 ? undefined : backupEveryHours,
    backupKeep: whole('NDD_BACKUP_KEEP', 1, 10_000),
    backupCheck: oneOf('NDD_BACKUP_CHECK', ['on', 'off']) === 'on',
    backupBucket: parseBucketPlace(text('NDD_BACKUP_S3')),
    backupBucketKeep: whole('NDD_BACKUP_S3_KEEP', 1, 100_000),
    archive: { maxBytes: archiveBytesMax, maxAgeMs: archiveHours * 3_600_000, freeShareMax: archiveFreeShareMax },
    keepLog: oneOf('NDD_KEEP_LOG', ['on', 'off']) === 'on',
    logLevel: oneOf('NDD_LOG_LEVEL', logLevels),
    queryLogPercent: whole('NDD_QUERY_LOG_PERCENT', 0, 100),
    tlsCert: text('NDD_TLS_CERT') || undefined,
    tlsKey: text('NDD_TLS_KEY') || undefined,
    tracesUrl: tracesUrl(environment, problems),
    inForce: settings.map(({ name }) => {
      const value = text(name)
      return { name, value: settingsShown.has(name) || value === '' ? value : 'set' }
    }),
  }
  for (const [name, token] of [
    ['NDD_AUTH_TOKEN', config.authToken],
    ['NDD_ROOT_TOKEN', config.rootToken],
  ] as const) {
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      problems.push(`${name} must consist of visible ASCII characters, since a header carries it`)
  }
  if (config.licensePublicKey !== undefined && !isPublicKey(config.licensePublicKey)) {
    problems.push('NDD_LICENSE_PUBLIC_KEY must be 32 bytes in base64url, as `annal license keys` prints them')
  } else if (vendorPublicKey !== undefined && (config.licensePublicKey ?? vendorPublicKey) !== vendorPublicKey) {
    problems.push('NDD_LICENSE_PUBLIC_KEY is rejected: this build accepts only the licenses of its vendor')
  }
  const bucket = text('NDD_BACKUP_S3')
  if (bucket !== '' && config.backupBucket === undefined)
    problems.push(`NDD_BACKUP_S3 must be s3://BUCKET or s3://BUCKET/PREFIX, not "${bucket}"`)
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    problems.push('NDD_TLS_CERT and NDD_TLS_KEY must be set together')
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const weakness = rootTokenWeakness(config.rootToken)
  const host = weakness === undefined || isLoopback(config.host) ? config.host : loopback
  const warnings = [
    ...nameWarnings(environment),
    ...tokenWarnings(config),
    ...(weakness === undefined ? [] : [weakness]),
    ...(host === config.host ? [] : [`listening on ${host} instead of ${config.host} for that reason`]),
  ]
  return { config: { ...config, host }, warnings }
}

function parseHost(entry: string): string | undefined {
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(entry) ? entry.toLowerCase() : undefined
}

function parseNetwork(entry: string): string | undefined {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return undefined
  return Number(bits ?? 1) >= 1 && Number(bits ?? 1) <= (family === 4 ? 32 : 128) ? entry : undefined
}

/** As browsers write it into the header Origin: without a path, and without the default port. `null` is any page's to send. */
function parseOrigin(entry: string): string | undefined {
  const url = URL.parse(entry)
  if (url === null || url.host === '' || url.host.includes('*')) return undefined
  const origin = `${url.protocol}//${url.host}`
  return url.href.replace(/\/$/, '') === origin ? origin : undefined
}

/** By the names that all programs with OpenTelemetry share. */
function tracesUrl(environment: Environment, problems: string[]): string | undefined {
  const name = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
    ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
    : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const given = environment[name]?.trim()
  if (!given) return undefined
  const url = name.includes('TRACES') ? given : `${given.replace(/\/+$/, '')}/v1/traces`
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
  problems.push(`${name} must be an address that begins with http:// or https://, not "${given}"`)
  return undefined
}

/** Where clients of the command line find a server; often in the same environment as the server's own settings. */
const clientAddress = 'NDD_SERVER_URL'

function nameWarnings(environment: Environment): string[] {
  const given = Object.keys(environment).filter((name) => name.startsWith('NDD_') && environment[name] !== undefined)
  const known = new Set(settings.map((setting) => setting.name))
  const idle = given.filter((name) => settingsWithoutEffect.includes(name))
  const unknown = given.filter((name) => !known.has(name) && !idle.includes(name) && name !== clientAddress)
  const warnings = unknown.map((name) => `${name} is not a setting of this server and was ignored`)
  if (idle.length > 0) warnings.push(`accepted for compatibility, without effect here: ${idle.join(', ')}`)
  return warnings
}

function tokenWarnings(config: Config): string[] {
  const warnings: string[] = []
  const open = !isLoopback(config.host)
  if (config.rootToken !== undefined) {
    return config.authToken === undefined ? [] : ['NDD_AUTH_TOKEN has no effect while NDD_ROOT_TOKEN is set']
  }
  if (config.authToken === undefined) {
    if (open)
      warnings.push(
        `listening on ${config.host} without NDD_AUTH_TOKEN: anyone who can reach the port can read and delete data`,
      )
    return warnings
  }
  if (config.authToken.length < tokenShort) {
    warnings.push(`NDD_AUTH_TOKEN is shorter than ${tokenShort} characters and can be guessed`)
  }
  if (config.authToken.split(':').length > 2) {
    warnings.push('NDD_AUTH_TOKEN has two or more colons: the published clients take the third part for a region')
  }
  return warnings
}

/** Why a root token must not be reachable from elsewhere; undefined for a good one, and for none. */
export function rootTokenWeakness(rootToken: string | undefined): string | undefined {
  if (rootToken === undefined) return undefined
  if (rootToken === rootTokenDefault) return 'NDD_ROOT_TOKEN is the published default, which is publicly known'
  if (rootToken.length >= tokenShort) return undefined
  return `NDD_ROOT_TOKEN is shorter than ${tokenShort} characters and can be guessed`
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}
