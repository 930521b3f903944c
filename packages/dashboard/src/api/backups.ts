// Backups of a database: created in the background, restored into new collections, downloaded and uploaded.
import { type CallOptions, call, download, segment } from './request.ts'

export interface Backup {
  readonly name: string
  readonly original_collection: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly size_bytes: number
  readonly lsn: number
  /** Time of the newest event in the backup. */
  readonly log_time: string
  readonly digest: string
  readonly params: { readonly total_elements: number }
  readonly fields: readonly { readonly name: string; readonly kind: string; readonly element_count: number }[]
}

export interface Job {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  readonly backup_name?: string
  readonly collection?: string
  readonly percent_complete?: number
  readonly error?: string
}

export type Moment = { readonly lsn: number } | { readonly time: string }

const base = '/api/v2/backup'
const pathOf = (name: string) => `${base}/${segment(name)}`
const ofCollection = (name: string) => `/api/v2/collection/${segment(name)}`

/** Newest first. */
export async function listBackups(options?: CallOptions): Promise<readonly Backup[]> {
  const byName = await call<{ [name: string]: Omit<Backup, 'name'> }>('GET', base, options)
  return Object.entries(byName)
    .map(([name, info]) => ({ name, ...info }))
    .sort((a, b) => b.timestamp - a.timestamp || a.name.localeCompare(b.name))
}

export const createBackup = (collection: string, name: string) =>
  call<{ backup_name: string }>('POST', `${ofCollection(collection)}/backup`, { body: name === '' ? {} : { name } })
export const backupStatus = (options?: CallOptions) => call<Job>('GET', '/api/v2/status/backup', options)
export const restoreStatus = (options?: CallOptions) => call<Job>('GET', '/api/v2/status/restore', options)
export const restoreBackup = (name: string, target: string, moment: Moment | undefined) =>
  call<object>('POST', `${pathOf(name)}/restore`, { body: { target_collection_name: target, ...moment } })
export const deleteBackup = (name: string) => call<object>('DELETE', pathOf(name))
export const verifyBackup = (name: string) =>
  call<{ status: 'ok' | 'damaged'; faults: readonly unknown[] }>('POST', `${pathOf(name)}/verify`, {
    body: { deep: true },
  })
export const downloadBackup = (name: string) => download(`${pathOf(name)}/download`)
export const uploadBackup = (name: string, file: File) =>
  call<object>('POST', `${base}/upload`, { query: { name }, raw: { type: 'application/x-tar', data: file } })
export const cloneCollection = (name: string, target: string) =>
  call<object>('POST', `${ofCollection(name)}/clone`, { body: { target_collection_name: target } })
