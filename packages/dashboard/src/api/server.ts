// The server's health, version, statistics, metrics, logs and settings.
import type { NodeStatus } from './cluster.ts'
import { AnnalError, type CallOptions, call, callText } from './request.ts'

export interface Health {
  readonly status: 'starting' | 'ok' | 'degraded' | 'read-only' | 'failed' | 'closed'
  readonly reasons?: readonly string[]
  readonly progress?: {
    readonly job: string
    readonly collection?: string
    readonly done: number
    readonly total: number
    readonly unit: string
  }
  /** Only of a node of a cluster, and only for tokens that may administer the server. */
  readonly cluster?: Pick<NodeStatus, 'node' | 'role'>
}

export interface Stats {
  readonly version: string
  /** Seconds. */
  readonly uptime: number
  readonly total_requests: number
  /** Only in replies to tokens that may read figures of the whole server. */
  readonly collections?: number
  readonly objects?: number
  readonly lsn?: { readonly applied: number; readonly durable: number; readonly checkpoint: number }
  readonly log?: { readonly bytes: number; readonly segments: number; readonly appends: number; readonly syncs: number }
  readonly backups?: Safety
  readonly memory?: { readonly [part: string]: number }
}

/** The backups that exist and the times that can be restored. */
export interface Safety {
  readonly count: number
  readonly bytes: number
  readonly newest_age_seconds?: number
  readonly archive?: { readonly bytes: number; readonly segments: number }
  readonly restorable_from?: { readonly lsn: number; readonly time: string }
  readonly restorable_to?: { readonly time: string }
}

export interface License {
  readonly license_id?: string
  readonly plan_type?: string
  readonly status?: string
  readonly start_date?: string
  readonly end_date?: string
}

export interface Info {
  readonly mode: 'plain' | 'enterprise'
  readonly version: string
  readonly build_arch: string
  readonly node?: string
  readonly machine_id: string
  readonly license: License | null
}

/** While the server starts, health replies with status 503, which is not a failure here. */
export async function health(options: CallOptions = {}): Promise<Health> {
  const { text } = await callText('GET', '/api/v2/health', { scope: 'control', ...options })
  const said: unknown = JSON.parse(text)
  if (typeof said === 'object' && said !== null && 'status' in said) return said as Health
  throw new Error('the reply is not from an Annal server')
}

export const stats = (options?: CallOptions) => call<Stats>('GET', '/api/v2/stats', { scope: 'control', ...options })
export const info = (options?: CallOptions) => call<Info>('GET', '/api/v2/info', options)
export const metrics = (options?: CallOptions) => call<string>('GET', '/metrics', { scope: 'control', ...options })

/** What makes vectors of texts. */
export interface Provider {
  readonly name: string
  readonly kind: string
  readonly model: string
  readonly dimension: number
}

/** None if the operator configured none, or if the server is older than providers. */
export async function listProviders(options?: CallOptions): Promise<readonly Provider[]> {
  try {
    return (await call<{ providers: readonly Provider[] }>('GET', '/api/v2/providers', options)).providers
  } catch (error) {
    if (error instanceof AnnalError && error.status === 404) return []
    throw error
  }
}

export const logs = (limit: number, options?: CallOptions) =>
  call<{ count: number; lines: readonly string[] }>('GET', '/api/v2/logs', { query: { limit }, ...options })
export const openapi = (options?: CallOptions) => call<OpenApi>('GET', '/api/v2/openapi.json', options)

export interface OpenApi {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components?: { readonly schemas?: Schemas }
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: Schema } } }
}

/** By name, as `#/components/schemas/<name>` refers to them. */
export interface Schemas {
  readonly [name: string]: Schema
}

export interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly const?: unknown
  readonly additionalProperties?: Schema | boolean
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
}

export interface Setting {
  readonly name: string
  readonly value: string
  readonly fallback: string
  readonly meaning: string
}

export const configuration = async (options?: CallOptions) =>
  (await call<{ settings: readonly Setting[] }>('GET', '/api/v2/configuration', { scope: 'control', ...options }))
    .settings
