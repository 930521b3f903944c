// The configuration of a server: the settings of the environment, validated before anything is opened.
import { availableParallelism } from 'node:os'
import type { EngineOptions } from '@annal/engine'
import type { BucketPlace } from './backups/bucket-place.ts'
import { type ClusterConfig, type ClusterValues, readCluster } from './cluster/cluster-config.ts'
import { type ProviderConfig, readProviders } from './embed/provider-config.ts'
import { readExports } from './export-config.ts'
import { isPublicKey } from './license/license-file.ts'
import { vendorPublicKey } from './license/public-key.ts'
import {
  type Environment,
  type FsyncPolicy,
  type LogLevel,
  readSettings,
  type SettingValues,
  settings,
  settingsWithoutEffect,
  textOf,
} from './settings.ts'

/** The configuration of a server, from its settings. */
export interface Config {
  readonly host: string
  /** 0 lets the system choose a port. */
  readonly port: number
  /** Host names that a server without a token accepts, in addition to IP addresses, `localhost`, and `host`. */
  readonly allowedHosts: readonly string[]
  /** Origins whose web pages may use the server: `https://app.example.com`. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  readonly dataDir: string
  /** Undefined: requests need no token. */
  readonly authToken: string | undefined
  /** Turns on enterprise mode: several databases with their own tokens, and a license. */
  readonly rootToken: string | undefined
  /** Undefined: the built-in key. */
  readonly licensePublicKey: string | undefined
  readonly fsync: FsyncPolicy
  /** Undefined: one thread for each core. */
  readonly threads: number | undefined
  /** Threads that serve HTTP. With 1, the main thread serves. */
  readonly serverThreads: number
  readonly topKMax: number
  readonly batchMax: number
  readonly backupMsMax: number
  readonly collectionsMax: number
  /** Number of request keys that are kept, and for how long. */
  readonly requestKeysMax: number
  readonly requestKeyHours: number
  /** For reads of the past. */
  readonly asOfLoadedMegabytes: number
  readonly asOfSeconds: number
  readonly asOfMemoryMegabytes: number
  /** MiB that the process may use. Undefined: what its control group and the machine allow. */
  readonly memoryMegabytesMax: number | undefined
  /** Requests per second for one token or address. Undefined: no limit. */
  readonly rateLimit: number | undefined
  /** Percentage of searches that are recorded, 0 to 100. */
  readonly queryLogPercent: number
  /** Hours between scheduled backups. Undefined: no scheduled backups. */
  readonly backupEveryHours: number | undefined
  readonly backupKeep: number
  readonly backupCheck: boolean
  /** Bucket that scheduled backups are copied to. Undefined: none. */
  readonly backupBucket: BucketPlace | undefined
  readonly backupBucketKeep: number
  /** No history is kept if `maxAgeMs` is 0. */
  readonly archive: NonNullable<EngineOptions['archive']>
  /** Bucket that the log and checkpoints are copied to. Undefined: none. */
  readonly archiveBucket: BucketPlace | undefined
  /** Archive that this server follows until it takes over; then archiveBucket is the same. Undefined: none. */
  readonly followBucket: BucketPlace | undefined
  readonly archiveBasesMax: number
  readonly archiveLagSeconds: number
  readonly archiveRequired: boolean
  readonly archiveBacklogGigabytes: number
  /** Whether a write is acknowledged only when it is in the bucket. */
  readonly acknowledge: 'local' | 'archive'
  /** Keeps every segment of the log. */
  readonly keepLog: boolean
  /** What makes this server a node of a cluster. Undefined: it serves alone. */
  readonly cluster: ClusterConfig | undefined
  readonly logLevel: LogLevel
  /** Files in PEM format; both are set or neither. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** Addresses that traces, metrics, and logs are sent to. Undefined: none. */
  readonly tracesUrl: string | undefined
  readonly metricsUrl: string | undefined
  readonly logsUrl: string | undefined
  /** Time between two reports of all metrics to `metricsUrl`. */
  readonly metricsEveryMs: number
  /** What makes vectors of texts. */
  readonly providers: readonly ProviderConfig[]
  /** Every setting for display. Of secrets and paths, it shows only whether they are set. */
  readonly inForce: readonly SettingInForce[]
}

/** A setting and its text, as shown to operators. */
export interface SettingInForce {
  readonly name: string
  readonly value: string
}

/** A configuration and what the operator should know about it. */
export interface ConfigRead {
  readonly config: Config
  /** One sentence for each warning, for the operator. */
  readonly warnings: readonly string[]
}

/** The settings are invalid. Each problem is one sentence. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

/** Maximum share of the free disk space that history may take. */
const archiveFreeShareMax = 0.1
const tokenShort = 16
/** More threads are set by the operator: each takes memory, and requests that change data do not get faster. */
const serverThreadsDefaultMax = 16
/** Root token that installers of the published server set by default. */
const rootTokenDefault = 'unsafe_root_token'
const loopback = '127.0.0.1'

/** Reads and validates the settings. Throws ConfigError with all problems at once. */
export function readConfig(environment: Environment): ConfigRead {
  const problems: string[] = []
  const { ofCluster, ...given } = splitCluster(readSettings(environment, problems))
  const { backupMinutesMax, archiveHours, archiveGigabytesMax, providersFile, ...values } = given
  const isHistoryWanted = archiveHours > 0 && (environment.NDD_ARCHIVE_HOURS?.trim() ?? '') !== ''
  const unsupported = {
    NDD_ARCHIVE_HOURS: isHistoryWanted,
    NDD_ARCHIVE_S3: values.archiveBucket !== undefined,
    NDD_FOLLOW_S3: values.followBucket !== undefined,
    NDD_KEEP_LOG: values.keepLog,
  }
  const cluster = readCluster(ofCluster, values.host, unsupported, problems)
  const config: Config = {
    ...values,
    cluster,
    providers: readProviders(providersFile, environment, problems),
    archiveBucket: values.archiveBucket ?? values.followBucket,
    serverThreads: values.serverThreads ?? Math.min(serverThreadsDefaultMax, availableParallelism()),
    backupMsMax: backupMinutesMax * 60_000,
    archive: {
      maxBytes: archiveGigabytesMax * 1_000_000_000,
      // A node of a cluster keeps no history.
      maxAgeMs: cluster === undefined ? archiveHours * 3_600_000 : 0,
      freeShareMax: archiveFreeShareMax,
    },
    ...readExports(environment, problems),
    inForce: settings.map((setting) => {
      const value = textOf(setting, environment)
      return { name: setting.name, value: setting.isShown || value === '' ? value : 'set' }
    }),
  }
  if (config.licensePublicKey !== undefined && !isPublicKey(config.licensePublicKey)) {
    problems.push('NDD_LICENSE_PUBLIC_KEY must be 32 bytes in base64url, as `annal license keys` prints them')
  } else if (vendorPublicKey !== undefined && (config.licensePublicKey ?? vendorPublicKey) !== vendorPublicKey) {
    problems.push('NDD_LICENSE_PUBLIC_KEY is rejected: this build accepts only the licenses of its vendor')
  }
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    problems.push('NDD_TLS_CERT and NDD_TLS_KEY must be set together')
  }
  const { followBucket: followed, archiveBucket: archived = followed } = values
  if (followed && (followed.bucket !== archived?.bucket || followed.prefix !== archived.prefix))
    problems.push(
      'NDD_ARCHIVE_S3 must be empty or the same as NDD_FOLLOW_S3: a server that takes over writes what it followed',
    )
  if (config.archiveBucket === undefined) {
    if (config.acknowledge === 'archive') problems.push('NDD_ACK=archive needs NDD_ARCHIVE_S3')
    if (config.archiveRequired) problems.push('NDD_ARCHIVE_REQUIRED=on needs NDD_ARCHIVE_S3')
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const weakness = rootTokenWeakness(config.rootToken)
  const host = weakness === undefined || isLoopback(config.host) ? config.host : loopback
  const warnings = [
    ...nameWarnings(environment),
    ...tokenWarnings(config),
    ...providerWarnings(config),
    ...(weakness === undefined ? [] : [weakness]),
    ...(host === config.host ? [] : [`listening on ${host} instead of ${config.host} for this reason`]),
  ]
  return { config: { ...config, host }, warnings }
}

/** Separates the settings of a cluster from the others. */
function splitCluster(values: SettingValues) {
  const { clusterUrls, clusterName, clusterCredentials, clusterCa, clusterMonitorUrls, ...rest } = values
  const { nodeName, nodeUrl, clusterReplicas, clusterLeaseMs, clusterWriteMs, clusterStalenessMs, ...more } = rest
  const { clusterFilesBucket, clusterFilesMegabytes, clusterSnapshotMegabytes, clusterRetentionHours, ...others } = more
  return { ...others, ofCluster: values satisfies ClusterValues }
}

/** Address of a server for command-line clients. It is often set in the same environment, so it causes no warning. */
const clientAddress = 'NDD_SERVER_URL'

function nameWarnings(environment: Environment): string[] {
  // In any case, because a system that tells cases apart would ignore `ndd_auth_token` without a word.
  const given = Object.keys(environment).filter((name) => /^NDD_/i.test(name) && environment[name] !== undefined)
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

function providerWarnings({ providers }: Config): string[] {
  return providers
    .filter(({ url, key }) => key !== undefined && url.startsWith('http:') && !isLoopback(new URL(url).hostname))
    .map(({ name }) => `provider ${name} gets its key without TLS: use an address that begins with https://`)
}

/** Why a root token is too weak for a server that other machines can reach; undefined if it is strong or not set. */
export function rootTokenWeakness(rootToken: string | undefined): string | undefined {
  if (rootToken === undefined) return undefined
  if (rootToken === rootTokenDefault) return 'NDD_ROOT_TOKEN is the published default, which is publicly known'
  if (rootToken.length >= tokenShort) return undefined
  return `NDD_ROOT_TOKEN is shorter than ${tokenShort} characters and can be guessed`
}

/** Whether only this machine can connect to a host. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}
