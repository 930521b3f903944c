// Backups in the API, for both versions.
import type { BackupInfo, DenseFieldSchema, JobStatus, Moment } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { type Infer, optionalBoolean, optionalInteger, optionalText } from './schema.ts'
import { timeForms, timeFrom } from './time.ts'

const mebibyte = 1_048_576
const checksumNone = -1
/** Numbers of precisions in the published servers, and for precisions that they do not have the number of bits. */
const quantLevels: { readonly [precision: string]: number } = {
  float32: 32,
  int16: 16,
  float16: 15,
  int8: 8,
  int4: 4,
  int2: 2,
  binary: 1,
}

/** Body that starts a backup. */
export const createBackupBody = Type.Object(
  { name: optionalText('1 to 200 letters, digits, underscores, hyphens; by default made from the name and the time.') },
  { $id: 'CreateBackup' },
)
export type CreateBackupBody = Infer<typeof createBackupBody>

const moment = {
  lsn: optionalInteger(
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    'Restore the state as of this event instead of that of the backup.',
  ),
  time: Type.Optional(
    Type.Unsafe<string | number | null>({
      type: ['string', 'number', 'null'],
      description: `Restore the state as of this time: ${timeForms}`,
    }),
  ),
}

/** Body of a restore in /api/v1. */
export const restoreIndexBody = Type.Object(
  { target_index_name: Type.String({ description: 'Name of the new index; must not exist.' }), ...moment },
  { $id: 'RestoreIndex' },
)
export type RestoreIndexBody = Infer<typeof restoreIndexBody>

/** Key of the bodies of /api/v2 that create a collection from another state. */
export const keepExpired = {
  keep_expired: optionalBoolean(
    'The objects of the new collection do not expire, including those that have expired since. Default: they keep their expiry.',
  ),
}

/** Body of a restore in /api/v2. */
export const restoreCollectionBody = Type.Object(
  {
    target_collection_name: Type.String({ description: 'Name of the new collection; must not exist.' }),
    ...moment,
    ...keepExpired,
  },
  { $id: 'RestoreCollection' },
)
export type RestoreCollectionBody = Infer<typeof restoreCollectionBody>

/** Body that clones a collection. */
export const cloneBody = Type.Object(
  {
    target_collection_name: Type.String({ description: 'Name of the new collection; must not exist.' }),
    ...keepExpired,
  },
  { $id: 'CloneCollection' },
)
export type CloneBody = Infer<typeof cloneBody>

/** Body that verifies a backup. */
export const verifyBackupBody = Type.Object(
  {
    deep: Type.Optional(
      Type.Boolean({ description: 'Builds the collection in a test restore and compares its digest.' }),
    ),
  },
  { $id: 'VerifyBackup' },
)
export type VerifyBackupBody = Infer<typeof verifyBackupBody>

/** Path parameter of a backup. */
export const backupParam = Type.Object({ backup: Type.String({ description: 'Name of the backup.' }) })

/** Undefined if there is none. `path` comes before the names of its keys in errors: '' or `as_of.`. */
export function readMoment({ lsn, time }: Pick<RestoreIndexBody, 'lsn' | 'time'>, path = ''): Moment | undefined {
  if (lsn != null && time != null) {
    const message = `${path}lsn and ${path}time cannot be used together`
    throw invalidArgument(message, { field: `${path}time`, value: time })
  }
  if (lsn != null) return { lsn }
  if (time == null) return undefined
  return { timeMs: timeFrom(time, `${path}time`) }
}

/** The description of a backup, with the keys of every generation of clients. */
export function backupInfo(info: BackupInfo) {
  const sparse = info.fields.find((field) => field.kind === 'sparse')
  const dense = info.fields.find((field) => field.kind === 'dense' || field.kind === 'multi')
  return {
    original_index: info.collection,
    original_collection: info.collection,
    aliases: info.aliases,
    timestamp: Math.floor(info.takenAt / 1_000),
    size_mb: Math.ceil(info.bytes / mebibyte),
    size_bytes: info.bytes,
    lsn: info.lsn,
    log_time: new Date(info.timeMs).toISOString(),
    digest: info.digest,
    params: {
      ...(dense !== undefined && denseParams(dense.params)),
      sparse_model: sparse?.kind === 'sparse' ? sparse.params.model : 'None',
      total_elements: info.objects,
      checksum: checksumNone,
    },
    fields: info.fields.map(({ name, kind, params, elements }) => ({ name, kind, params, element_count: elements })),
  }
}

function denseParams({ M, efConstruction, dimension, spaceType, precision }: DenseFieldSchema['params']) {
  return {
    M,
    ef_construction: efConstruction,
    dim: dimension,
    space_type: spaceType,
    quant_level: quantLevels[precision],
    precision,
  }
}

/** The backups by name. */
export function backupList(infos: readonly BackupInfo[]) {
  return Object.fromEntries(infos.map((info) => [info.name, backupInfo(info)]))
}

/** The reply of /backups/active. */
export function activeBackup(job: JobStatus) {
  if (job.status !== 'running') return { active: false }
  return {
    active: true,
    operation: 'backup',
    backup_name: job.name,
    index_id: job.collection,
    collection_id: job.collection,
    percent_complete: percentOf(job),
  }
}

/** The reply of /status/backup and /status/restore. */
export function jobStatus(job: JobStatus) {
  return {
    status: job.status,
    ...(job.name !== undefined && { backup_name: job.name }),
    ...(job.collection !== undefined && { collection: job.collection }),
    ...(job.status !== 'idle' && { percent_complete: percentOf(job) }),
    ...(job.startedAt !== undefined && { started_at: new Date(job.startedAt).toISOString() }),
    ...(job.completedAt !== undefined && { completed_at: new Date(job.completedAt).toISOString() }),
    ...(job.error !== undefined && { error: job.error }),
  }
}

function percentOf({ status, bytesDone = 0, bytes = 0 }: JobStatus): number {
  if (status === 'completed') return 100
  return bytes === 0 ? 0 : Math.floor((99 * bytesDone) / bytes)
}
