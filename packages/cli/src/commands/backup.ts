// `annal backup ...` and `annal restore`: backup operations of the client with text output.
import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { BackupInfo } from '@annal/client'
import { bytesText, objectsText } from '../amounts.ts'
import { withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { timeOf } from '../moment.ts'
import type { Terminal } from '../terminal.ts'
import { wholly } from '../whole-files.ts'
import { type BackupOptions, counted } from './backup-stream.ts'

/** Waits for the backup to complete, so that success means that the backup exists. */
export function createBackup(
  collection: string,
  name: string | undefined,
  options: BackupOptions & { readonly to?: string },
  terminal: Terminal,
) {
  return withClient(options, async (client) => {
    const begun = await client.collection(collection).createBackup(name)
    const done = await client.backups.completed(begun, {
      onProgress: ({ percent = 0 }) => terminal.bar.show(`backing up ${collection}`, percent, 100),
    })
    if (options.to !== undefined) {
      const { carryTo } = await import('./bucket.ts')
      await carryTo(options.to, client, done.name, terminal)
    }
    tell(done, options, terminal)
    return exitCode.good
  })
}

export function listBackups(options: BackupOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    const backups = await client.backups.list()
    if (options.json) terminal.line(JSON.stringify({ backups }))
    else for (const backup of backups) tell(backup, options, terminal)
    return exitCode.good
  })
}

export function showBackup(name: string, options: BackupOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    tell(await client.backups.info(name), options, terminal)
    return exitCode.good
  })
}

export function verifyBackup(name: string, options: BackupOptions & { readonly deep?: boolean }, terminal: Terminal) {
  return withClient(options, async (client) => {
    const faults = await client.backups.verify(name, { deep: options.deep })
    if (options.json) terminal.line(JSON.stringify({ name, faults }))
    else for (const line of faults.length === 0 ? [`good: ${name}`] : faults) terminal.line(line)
    return faults.length === 0 ? exitCode.good : exitCode.damaged
  })
}

export function deleteBackup(name: string, options: BackupOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    await client.backups.delete(name)
    if (!options.json) terminal.line(`${name} deleted`)
    return exitCode.good
  })
}

/** Writes to a temporary file, so that the target appears only when it is complete. */
export function downloadBackup(
  name: string,
  options: BackupOptions & { readonly output?: string },
  terminal: Terminal,
) {
  const file = options.output ?? `${name}.annal-backup`
  return withClient(options, async (client) => {
    const { bytes } = await client.backups.info(name)
    const content = Readable.from(counted(await client.backups.download(name), `downloading ${name}`, bytes, terminal))
    await wholly([file], ([part = '']) => pipeline(content, createWriteStream(part, { flush: true })))
    terminal.line(options.json ? JSON.stringify({ name, file }) : file)
    return exitCode.good
  })
}

export function uploadBackup(file: string, options: BackupOptions & { readonly name?: string }, terminal: Terminal) {
  const name = options.name ?? path.basename(file).replace(/\.[^.]*$/, '')
  return withClient(options, async (client) => {
    // Opens the file before the upload starts, so that a missing file is reported as such.
    await using handle = await open(file)
    const content = counted(handle.createReadStream(), `uploading ${name}`, undefined, terminal)
    await client.backups.upload(name, ReadableStream.from<Uint8Array>(content))
    if (!options.json) terminal.line(`${name} uploaded`)
    return exitCode.good
  })
}

export interface RestoreCommandOptions extends BackupOptions {
  readonly lsn?: number
  readonly time?: string
  readonly keepExpired?: boolean
}

export function restore(name: string, target: string, options: RestoreCommandOptions, terminal: Terminal) {
  const time = options.time === undefined ? undefined : timeOf(options.time, '--time')
  return withClient(options, async (client) => {
    await client.backups.restore(name, {
      target,
      lsn: options.lsn,
      time,
      keepExpired: options.keepExpired,
      onProgress: ({ percent = 0 }) => terminal.bar.show(`restoring ${target}`, percent, 100),
    })
    const count = await client.collection(target).count()
    terminal.line(options.json ? JSON.stringify({ collection: target, count }) : `${target} has ${objectsText(count)}`)
    return exitCode.good
  })
}

function tell(backup: BackupInfo, { json }: BackupOptions, terminal: Terminal): void {
  const { name, original, createdAt, objects, bytes, lsn } = backup
  if (json) terminal.line(JSON.stringify(backup))
  else
    terminal.line(
      `${name}: ${original}, ${objectsText(objects)}, ${bytesText(bytes)}, LSN ${lsn}, ${createdAt.toISOString()}`,
    )
}
