// The configuration of a server: the settings of the environment, checked before anything is opened.
import type { EngineOptions } from '@annal/engine'
import type { BucketPlace } from './backups/bucket-place.ts'
import { isPublicKey } from './license/license-file.ts'
import { vendorPublicKey } from './license/public-key.ts'
import {
  type Environment,
  type FsyncPolicy,
  type LogLevel,
  readSettings,
  settings,
  settingsWithoutEffect,
  textOf,
} from './settings.ts'

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
  /** Every setting as given, for display; for secrets and paths only whether they are set. */
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

/** The share of the free disk that history may take. */
const archiveFreeShareMax = 0.1
const tokenShort = 16
/** What installers of the published server write when nobody chooses. */
const rootTokenDefault = 'unsafe_root_token'
const loopback = '127.0.0.1'

/** Throws ConfigError with every problem at once. */
export function readConfig(environment: Environment): ConfigRead {
  const problems: string[] = []
  const { backupMinutesMax, archiveHours, archiveGigabytesMax, ...values } = readSettings(environment, problems)
  const config: Config = {
    ...values,
    backupMsMax: backupMinutesMax * 60_000,
    archive: {
      maxBytes: archiveGigabytesMax * 1_000_000_000,
      maxAgeMs: archiveHours * 3_600_000,
      freeShareMax: archiveFreeShareMax,
    },
    tracesUrl: tracesUrl(environment, problems),
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
  if (problems.length > 0) throw new ConfigError(problems)
  const weakness = rootTokenWeakness(config.rootToken)
  const host = weakness === undefined || isLoopback(config.host) ? config.host : loopback
  const warnings = [
    ...nameWarnings(environment),
    ...tokenWarnings(config),
    ...(weakness === undefined ? [] : [weakness]),
    ...(host === config.host ? [] : [`listening on ${host} instead of ${config.host} for this reason`]),
  ]
  return { config: { ...config, host }, warnings }
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
