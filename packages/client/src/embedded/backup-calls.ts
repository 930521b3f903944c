// The operations on backups, on an engine.
import type { BackupInfo as EngineBackup, JobStatus, Moment } from '@annal/engine'
import type { BackupInfo, BackupStatus } from '../backup-info.ts'
import { AnnalError } from '../errors.ts'
import type { BackupOperations } from '../operations.ts'
import type { Calls } from './calls.ts'

export const backupCalls: Calls<keyof BackupOperations> = {
  listBackups: ({ database }) => database.backups.list().map(infoOf),
  backupInfo: ({ database }, { backup }) => infoOf(database.backups.info(backup)),
  backupStatus: ({ database }) => statusOf(database.backups.status()),
  restoreStatus: ({ database }) => statusOf(database.backups.restoreStatus()),
  cancelRestore: ({ database }) => database.backups.cancelRestore(),
  verifyBackup: ({ database }, { backup, deep }) => database.backups.verify(backup, { deep }),
  async restoreBackup({ database }, { backup, target, lsn, time, keepExpired }, write) {
    await database.backups.restore(backup, target, momentOf(lsn, time), { ...write, keepExpired })
    return undefined
  },
  async deleteBackup({ database }, { backup }) {
    await database.backups.remove(backup)
    return undefined
  },
  downloadBackup({ database }, { backup }) {
    const parts = database.backups.download(backup).stream[Symbol.asyncIterator]()
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await parts.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await parts.return?.()
      },
    })
  },
  async uploadBackup({ database }, { backup, content }) {
    await database.backups.upload(backup, content instanceof Blob ? content.stream() : content)
    return undefined
  },
}

function statusOf({ status, name, collection, bytes = 0, bytesDone = 0, error }: JobStatus): BackupStatus {
  return {
    status,
    ...(name !== undefined && { name }),
    ...(collection !== undefined && { collection }),
    ...(bytes > 0 && { percent: status === 'completed' ? 100 : Math.floor((99 * bytesDone) / bytes) }),
    ...(error !== undefined && { error }),
  }
}

function infoOf({ name, collection, takenAt, bytes, objects, lsn, timeMs, fields, digest }: EngineBackup): BackupInfo {
  return {
    name,
    original: collection,
    createdAt: new Date(takenAt),
    bytes,
    objects,
    lsn,
    logTime: new Date(timeMs),
    fields: fields.map(({ name, kind, elements }) => ({ name, kind, count: elements })),
    digest,
  }
}

function momentOf(lsn: number | undefined, time: Date | undefined): Moment | undefined {
  if (lsn !== undefined && time !== undefined) {
    throw new AnnalError('invalid_argument', 'lsn and time cannot be used together', { field: 'time', value: time })
  }
  if (lsn !== undefined) return { lsn }
  return time === undefined ? undefined : { timeMs: time.getTime() }
}
