// Backup routes of both versions: create, list, restore, download, and upload.
import type { FastifyInstance } from 'fastify'
import { addBackupParsers, sendBackup, uploadedBackup } from '../backups/backup-stream.ts'
import { invalidArgument } from '../errors.ts'
import { noBodyIsEmpty } from '../http/bodies.ts'
import { sendText } from '../http/replies.ts'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkCollections } from '../license/tiers.ts'
import type { RouteContext } from '../route-context.ts'
import {
  activeBackup,
  backupInfo,
  backupList,
  backupParam,
  type CloneBody,
  type CreateBackupBody,
  cloneBody,
  createBackupBody,
  jobStatus,
  type RestoreCollectionBody,
  type RestoreIndexBody,
  readMoment,
  restoreCollectionBody,
  restoreIndexBody,
  type VerifyBackupBody,
  verifyBackupBody,
} from '../wire/backup.ts'
import { nameParam } from '../wire/schema.ts'

type Named = { Params: { name: string } }
type OfBackup = { Params: { backup: string } }

const momentNames = { 'moment.lsn': 'lsn', 'moment.timeMs': 'time' }
const targetName = { target: 'target_collection_name', ...momentNames }
const noRecord = {
  refused: 'a backup is not an event of the log; name the backup, so that a repetition finds it',
}

/** Published clients of v1 expect status 400 for these errors. */
const refusedAsBad = { backup_not_found: 400, backup_exists: 400, backup_running: 400, collection_exists: 400 }

/** On a node of a cluster, each of these routes first reads which backups the cluster has. */
function refreshed(app: FastifyInstance, { slot, config }: RouteContext): void {
  if (config.cluster === undefined) return
  app.addHook('preHandler', async () => slot.cluster?.refreshBackups())
}

/** Adds the backup routes of /api/v1, in a scope of their own. */
export function v1BackupRoutes(app: FastifyInstance, context: RouteContext): void {
  refreshed(app, context)
  const create = {
    schema: { params: nameParam, body: createBackupBody },
    config: {
      ...{ doc: docs.create, audit: 'backup.create', requestKey: noRecord },
      ...{ statuses: refusedAsBad, bodyOptional: true },
    },
    preValidation: noBodyIsEmpty,
  }
  app.post<Named & { Body: CreateBackupBody }>('/index/:name/backup', create, async (request, reply) => {
    const { database, params, body } = request
    const { name } = await database.backups.create(params.name, body.name ?? undefined)
    return reply.code(202).send({ backup_name: name, status: 'in_progress' })
  })

  const restore = {
    schema: { params: backupParam, body: restoreIndexBody },
    config: {
      ...({ doc: docs.restore, audit: 'backup.restore', requestKey: 'kept', isLong: true } as const),
      ...{ statuses: refusedAsBad, fieldNames: { target: 'target_index_name', ...momentNames } },
    },
  } as const
  app.post<OfBackup & { Body: RestoreIndexBody }>('/backups/:backup/restore', restore, async (request, reply) => {
    const { target_index_name: target, ...moment } = request.body
    const done = await once(request, reply, async (requestKey) => {
      const { database, params } = request
      checkCollections(database)
      return database.backups.restore(params.backup, target, readMoment(moment), { requestKey })
    })
    return sendText(reply.code(201), 'Backup restored successfully', done)
  })

  const remove = {
    schema: { params: backupParam },
    config: {
      doc: docs.removeSilently,
      audit: 'backup.delete',
      statuses: refusedAsBad,
      requestKey: noRecord,
      isLong: true,
    },
  }
  app.delete<OfBackup>('/backups/:backup', remove, async (request, reply) => {
    await request.database.backups.remove(request.params.backup)
    return reply.code(204).send()
  })
  commonRoutes(app, '/backups')
}

/** Adds the backup routes of /api/v2, in a scope of their own. */
export function v2BackupRoutes(app: FastifyInstance, context: RouteContext): void {
  refreshed(app, context)
  const create = {
    schema: { params: nameParam, body: createBackupBody },
    config: { doc: docs.create, audit: 'backup.create', bodyOptional: true, requestKey: noRecord },
    preValidation: noBodyIsEmpty,
  }
  app.post<Named & { Body: CreateBackupBody }>('/collection/:name/backup', create, async (request, reply) => {
    const { name } = await request.database.backups.create(request.params.name, request.body.name ?? undefined)
    return reply.code(202).send({ backup_name: name, status: 'in_progress' })
  })

  const clone = {
    schema: { params: nameParam, body: cloneBody },
    config: { doc: docs.clone, audit: 'collection.clone', requestKey: 'kept', isLong: true, fieldNames: targetName },
  } as const
  app.post<Named & { Body: CloneBody }>('/collection/:name/clone', clone, async (request, reply) => {
    const { target_collection_name: target, keep_expired: keeps } = request.body
    const { contentLsn, lsn, durable } = await once(request, reply, async (requestKey) => {
      checkCollections(request.database)
      return request.database.backups.clone(request.params.name, target, { requestKey, keepExpired: keeps ?? false })
    })
    const done = { lsn, durable }
    return reply.code(201).send({ message: 'Collection cloned', collection: target, content_lsn: contentLsn, ...done })
  })

  const past = {
    schema: { params: nameParam, body: restoreCollectionBody },
    config: { doc: docs.past, audit: 'collection.restore', requestKey: 'kept', isLong: true, fieldNames: targetName },
  } as const
  app.post<Named & { Body: RestoreCollectionBody }>('/collection/:name/restore', past, async (request, reply) => {
    const { target_collection_name: target, keep_expired: keeps, ...rest } = request.body
    const moment = readMoment(rest)
    if (moment === undefined) throw invalidArgument('lsn or time is required', { field: 'lsn' })
    const done = await once(request, reply, async (requestKey) => {
      checkCollections(request.database)
      return request.database.backups.restorePast(request.params.name, target, moment, {
        requestKey,
        keepExpired: keeps ?? false,
      })
    })
    return reply.code(201).send({ message: 'Collection restored', collection: target, ...done })
  })

  app.get('/status/backup', { config: { doc: docs.status, onLeader: true } }, async ({ database }) =>
    jobStatus(database.backups.status()),
  )
  app.get('/status/restore', { config: { doc: docs.restoreStatus, onLeader: true } }, async ({ database }) =>
    jobStatus(database.backups.restoreStatus()),
  )

  const cancel = { config: { doc: docs.cancel, audit: 'backup.cancel', requestKey: noRecord } }
  app.delete('/status/backup', cancel, async ({ database }) => ({ cancelled: await database.backups.cancel() }))
  const cancelRestore = {
    config: { doc: docs.cancelRestore, audit: 'backup.restore.cancel', requestKey: noRecord },
  }
  app.delete('/status/restore', cancelRestore, async ({ database }) => ({
    cancelled: database.backups.cancelRestore(),
  }))

  // An earlier version of the published API used the plural.
  for (const path of ['/backup', '/backups']) {
    const restore = {
      schema: { params: backupParam, body: restoreCollectionBody },
      config: {
        ...({ doc: docs.restoreCollection, audit: 'backup.restore', requestKey: 'kept', isLong: true } as const),
        fieldNames: targetName,
      },
    } as const
    app.post<OfBackup & { Body: RestoreCollectionBody }>(`${path}/:backup/restore`, restore, async (request, reply) => {
      const { target_collection_name: target, keep_expired: keeps, ...moment } = request.body
      const done = await once(request, reply, async (requestKey) => {
        const { database, params } = request
        checkCollections(database)
        return database.backups.restore(params.backup, target, readMoment(moment), {
          requestKey,
          keepExpired: keeps ?? false,
        })
      })
      return reply.code(201).send({ message: 'Backup restored successfully', collection: target, ...done })
    })

    const verify = {
      schema: { params: backupParam, body: verifyBackupBody },
      config: { doc: docs.verify, onLeader: true, isLong: true },
    }
    app.post<OfBackup & { Body: VerifyBackupBody }>(`${path}/:backup/verify`, verify, async (request) => {
      const faults = await request.database.backups.verify(request.params.backup, { deep: request.body.deep ?? false })
      return { status: faults.length === 0 ? 'ok' : 'damaged', faults }
    })

    const config = { doc: docs.remove, audit: 'backup.delete', requestKey: noRecord, isLong: true }
    const remove = { schema: { params: backupParam }, config }
    app.delete<OfBackup>(`${path}/:backup`, remove, async (request) => {
      await request.database.backups.remove(request.params.backup)
      return { message: 'Backup deleted' }
    })
    commonRoutes(app, path)
  }
}

/** Routes that are the same in both versions. */
function commonRoutes(app: FastifyInstance, path: string): void {
  app.get(path, { config: { doc: docs.list } }, async ({ database }) => backupList(database.backups.list()))

  app.get(`${path}/active`, { config: { doc: docs.active, onLeader: true } }, async ({ database }) =>
    activeBackup(database.backups.status()),
  )

  const info = { schema: { params: backupParam }, config: { doc: docs.info } }
  app.get<OfBackup>(`${path}/:backup/info`, info, async (request) =>
    backupInfo(request.database.backups.info(request.params.backup)),
  )

  const download = {
    schema: { params: backupParam },
    config: { doc: docs.download, audit: 'backup.download', tokenInQuery: true },
  }
  app.get<OfBackup>(`${path}/:backup/download`, download, async (request, reply) => {
    const { backup } = request.params
    return sendBackup(reply, backup, request.database.backups.download(backup))
  })

  // Separate parsers, so that no other route accepts a stream.
  app.register(async (uploads) => {
    addBackupParsers(uploads)
    const upload = {
      config: { doc: docs.upload, audit: 'backup.upload', requestKey: noRecord, isLong: true, queryKeys: ['name'] },
    }
    uploads.post(`${path}/upload`, upload, async (request, reply) => {
      const { name, stream } = await uploadedBackup(request)
      await request.database.backups.upload(name, stream)
      return sendText(reply.code(201), 'Backup uploaded successfully', { backup_name: name })
    })
  })
}

const docs = {
  create: {
    access: 'write',
    summary: 'Starts a backup. Searches and writes continue. One backup per database can run at a time.',
    reply: { description: 'The backup is running; backup_name is its name.', status: 202, json: 'BackupStarted' },
  },
  list: {
    access: 'read',
    summary: 'Lists all backups.',
    reply: { description: 'The backups by name, each with its description.', json: 'Backups' },
  },
  active: {
    access: 'read',
    summary: 'Returns whether a backup is running.',
    reply: { description: 'active, and the collection and name of the running backup.', json: 'ActiveBackup' },
  },
  info: {
    access: 'read',
    summary: 'Describes a backup.',
    reply: { description: 'Origin, time, size, parameters, LSN, and digest.', json: 'Backup' },
  },
  restore: {
    access: 'write',
    summary: 'Restores a backup, or an earlier moment of its collection, into a new collection.',
    reply: {
      description: 'The collection exists and can be searched and written.',
      status: 201,
      text: 'Backup restored successfully',
      json: 'Acknowledged',
    },
  },
  restoreCollection: {
    access: 'write',
    summary: 'Restores a backup, or an earlier moment of its collection, into a new collection.',
    reply: {
      description: 'The collection exists and can be searched and written.',
      status: 201,
      json: 'Restored',
    },
  },
  remove: {
    access: 'write',
    summary: 'Deletes a backup.',
    reply: { description: 'The backup is deleted.', json: 'Message' },
  },
  removeSilently: {
    access: 'write',
    summary: 'Deletes a backup.',
    reply: { description: 'The backup is deleted.', status: 204 },
  },
  download: {
    access: 'read',
    summary:
      'Downloads a backup as one stream, for upload to this or another server. The token may be passed as ?token=.',
    reply: { description: 'The bytes, as a file download.', media: 'application/x-tar' },
  },
  upload: {
    access: 'write',
    summary: 'Uploads a stream from a download: multipart/form-data with a file named backup, or the bytes and ?name=.',
    bodyMedia: ['multipart/form-data', 'application/x-tar'],
    reply: {
      description: 'The backup is complete, was verified, and can be restored.',
      status: 201,
      text: 'Backup uploaded successfully',
      json: 'Uploaded',
    },
  },
  verify: {
    access: 'read',
    summary: 'Compares every file of a backup with its checksum; deep also builds the collection in a test restore.',
    reply: { description: 'status is ok or damaged; faults lists the damage.', json: 'Verification' },
  },
  clone: {
    access: 'write',
    summary: 'Clones a collection into a new one.',
    reply: {
      description: 'The collection exists; requests to it wait until it is loaded.',
      status: 201,
      json: 'Cloned',
    },
  },
  past: {
    access: 'write',
    summary: 'Restores an earlier moment of a collection into a new one, even if the collection was deleted since.',
    reply: { description: 'The collection exists and can be searched and written.', status: 201, json: 'Restored' },
  },
  status: {
    access: 'read',
    summary: 'Returns the running backup, or the last one since the start.',
    reply: { description: 'status is idle, running, completed, or failed.', json: 'JobStatus' },
  },
  restoreStatus: {
    access: 'read',
    summary: 'Returns the running restore, or the last one since the start.',
    reply: { description: 'status is idle, running, completed, or failed.', json: 'JobStatus' },
  },
  cancel: {
    access: 'write',
    summary: 'Cancels the running backup.',
    reply: {
      description: 'cancelled is false if no backup was running. Nothing of the backup is kept.',
      json: 'Cancellation',
    },
  },
  cancelRestore: {
    access: 'write',
    summary: 'Cancels the restore that started last; a request that waits for it gets 409 cancelled.',
    reply: { description: 'cancelled is false if no restore was running.', json: 'Cancellation' },
  },
} satisfies Record<string, RouteDoc>
