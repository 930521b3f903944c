// The operations on backups.
import type { BackupInfo } from '../backups.ts'
import { number, object, parseJson, parseObject, text, unexpected } from './read.ts'
import { get, post, type Routes, remove, segment, sentence } from './route.ts'

/** Moving a backup takes as long as it takes; a call that hangs still ends. */
const transferTimeoutMs = 3_600_000

export const backupRoutes: Routes<
  'listBackups' | 'backupInfo' | 'activeBackup' | 'restoreBackup' | 'deleteBackup' | 'downloadBackup' | 'uploadBackup'
> = {
  listBackups: {
    retry: 'always',
    request: () => get(backups),
    reply: (reply) =>
      Object.entries(object(parseJson(reply.text), 'backups')).map(([name, info]) => parseBackup(name, info)),
  },
  backupInfo: {
    retry: 'always',
    request: ({ backup }) => get(`${of(backup)}/info`),
    reply: (reply, { backup }) => parseBackup(backup, parseJson(reply.text)),
  },
  activeBackup: {
    retry: 'always',
    request: () => get(`${backups}/active`),
    reply: (reply) => {
      const { active, backup_name: name, ...details } = parseObject(parseJson(reply.text))
      return { active: active === true, ...(typeof name === 'string' && { name }), details }
    },
  },
  restoreBackup: {
    retry: 'when-refused',
    timeoutMs: transferTimeoutMs,
    request: ({ backup, target, lsn, time }) =>
      post(`${of(backup)}/restore`, { target_collection_name: target, lsn, time: time?.toISOString() }, sentence),
    reply: () => undefined,
  },
  deleteBackup: {
    retry: 'when-refused',
    request: ({ backup }) => remove(of(backup)),
    reply: () => undefined,
  },
  downloadBackup: {
    retry: 'always',
    timeoutMs: transferTimeoutMs,
    request: ({ backup }) => ({ method: 'GET', path: `${of(backup)}/download`, accept: '*/*', streamed: true }),
    reply: ({ stream }) => {
      if (stream === undefined) throw unexpected('backup', 'no content')
      return stream
    },
  },
  uploadBackup: {
    // A stream can be sent once.
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

function of(backup: string): string {
  return `${backups}/${segment(backup)}`
}

function parseBackup(name: string, value: unknown): BackupInfo {
  const { original_index, original_collection, timestamp, size_mb, ...details } = parseObject(value)
  return {
    name,
    original: text(original_collection ?? original_index, 'original_collection'),
    createdAt: new Date(number(timestamp, 'timestamp') * 1_000),
    sizeMb: number(size_mb, 'size_mb'),
    details,
  }
}
