// The operations on backups.
import type { BackupInfo, BackupStatus } from '../backup-info.ts'
import type { BackupOperations } from '../operations.ts'
import { flag, list, moment, number, object, parseJson, text, unexpected } from './read.ts'
import { get, post, type Routes, remove, segment, sentence } from './route.ts'

/** Moving a backup takes long; the limit only ends a call that hangs. */
const transferTimeoutMs = 3_600_000

/** The operations on backups, for `routedTransport`. */
export const backupRoutes: Routes<keyof BackupOperations> = {
  listBackups: {
    retry: 'always',
    request: () => get(backups),
    reply: (reply) =>
      Object.entries(object(parseJson(reply.text), 'backups')).map(([name, info]) => parseBackup(name, info)),
  },
  backupInfo: {
    retry: 'always',
    request: ({ backup }) => get(`${pathOf(backup)}/info`),
    reply: (reply, { backup }) => parseBackup(backup, parseJson(reply.text)),
  },
  backupStatus: {
    retry: 'always',
    request: () => get('/api/v2/status/backup'),
    reply: (reply) => parseStatus(parseJson(reply.text)),
  },
  restoreStatus: {
    retry: 'always',
    request: () => get('/api/v2/status/restore'),
    reply: (reply) => parseStatus(parseJson(reply.text)),
  },
  cancelRestore: {
    retry: 'always',
    request: () => remove('/api/v2/status/restore'),
    reply: (reply) => flag(object(parseJson(reply.text), 'reply').cancelled, 'cancelled'),
  },
  verifyBackup: {
    retry: 'always',
    timeoutMs: transferTimeoutMs,
    request: ({ backup, deep }) => post(`${pathOf(backup)}/verify`, { deep }),
    reply: (reply) =>
      list(object(parseJson(reply.text), 'reply').faults, 'faults').map((fault) => text(fault, 'fault')),
  },
  restoreBackup: {
    retry: 'when-refused',
    takesKey: true,
    timeoutMs: transferTimeoutMs,
    request: ({ backup, target, lsn, time, keepExpired }) =>
      post(
        `${pathOf(backup)}/restore`,
        { target_collection_name: target, lsn, time: time?.toISOString(), keep_expired: keepExpired },
        sentence,
      ),
    reply: () => undefined,
  },
  deleteBackup: {
    retry: 'when-refused',
    request: ({ backup }) => remove(pathOf(backup)),
    reply: () => undefined,
  },
  downloadBackup: {
    retry: 'always',
    timeoutMs: transferTimeoutMs,
    request: ({ backup }) => ({ method: 'GET', path: `${pathOf(backup)}/download`, accept: '*/*', streamed: true }),
    reply: ({ stream }) => {
      if (stream === undefined) throw unexpected('backup', 'no content')
      return stream
    },
  },
  uploadBackup: {
    // A stream can be sent only once.
    retry: 'never',
    timeoutMs: transferTimeoutMs,
    request: ({ backup, content }) => ({
      method: 'POST',
      path: `${backups}/upload?name=${segment(backup)}`,
      body: content,
      contentType: 'application/x-tar',
      accept: sentence,
    }),
    reply: () => undefined,
  },
}

const backups = '/api/v2/backup'

function pathOf(backup: string): string {
  return `${backups}/${segment(backup)}`
}

function parseStatus(value: unknown): BackupStatus {
  const { status, backup_name: name, collection, percent_complete: percent, error } = object(value, 'status')
  return {
    status: status === 'running' || status === 'completed' || status === 'failed' ? status : 'idle',
    ...(typeof name === 'string' && { name }),
    ...(typeof collection === 'string' && { collection }),
    ...(typeof percent === 'number' && { percent }),
    ...(typeof error === 'string' && { error }),
  }
}

function parseBackup(name: string, value: unknown): BackupInfo {
  const backup = object(value, 'backup')
  return {
    name,
    original: text(backup.original_collection ?? backup.original_index, 'original_collection'),
    createdAt: moment(backup.timestamp, 'timestamp'),
    bytes: number(backup.size_bytes, 'size_bytes'),
    objects: number(object(backup.params, 'params').total_elements, 'total_elements'),
    lsn: number(backup.lsn, 'lsn'),
    logTime: moment(backup.log_time, 'log_time'),
    fields: list(backup.fields, 'fields').map(parseField),
    digest: text(backup.digest, 'digest'),
  }
}

function parseField(value: unknown): BackupInfo['fields'][number] {
  const { name, kind, element_count: count } = object(value, 'field')
  return { name: text(name, 'name'), kind: text(kind, 'kind'), count: number(count, 'element_count') }
}
