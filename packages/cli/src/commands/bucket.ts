// `annal backup push`, `pull`, and `list` and `delete` with `--at`: backups in S3-compatible object storage.
import type { Client } from '@annal/client'
import { parseBucketPlace } from '@annal/server'
import { Bucket, BucketError } from '@annal/server/bucket'
import { bytesText } from '../amounts.ts'
import { refusal, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'
import { type BackupOptions, counted } from './backup-stream.ts'

export interface PushOptions extends BackupOptions {
  readonly check?: boolean
}

/** Success means that the whole backup is in the bucket. */
export function pushBackup(name: string, url: string, options: PushOptions, terminal: Terminal): Promise<number> {
  return withBucket(url, (bucket) =>
    withClient(options, async (client) => {
      await carry(client, name, bucket, terminal, options)
      terminal.line(options.json ? JSON.stringify({ name, at: url }) : `${name} pushed to ${url}`)
      return exitCode.good
    }),
  )
}

/** Uses a client that is already open. */
export function carryTo(url: string, client: Client, name: string, terminal: Terminal): Promise<void> {
  return withBucket(url, (bucket) => carry(client, name, bucket, terminal))
}

/** Everything received is verified before it becomes a backup. */
export function pullBackup(
  name: string,
  url: string,
  options: BackupOptions & { readonly as?: string },
  terminal: Terminal,
): Promise<number> {
  const { as = name } = options
  return withBucket(url, (bucket) =>
    withClient(options, async (client) => {
      const content = counted(await bucket.get(name), `fetching ${name}`, undefined, terminal)
      await client.backups.upload(as, ReadableStream.from<Uint8Array>(content))
      terminal.line(options.json ? JSON.stringify({ name: as, from: url }) : `${as} pulled`)
      return exitCode.good
    }),
  )
}

export function listBucket(url: string, { json }: BackupOptions, terminal: Terminal): Promise<number> {
  return withBucket(url, async (bucket) => {
    const backups = await bucket.list()
    if (json) terminal.line(JSON.stringify({ backups }))
    else
      for (const { name, bytes, carriedAt } of backups)
        terminal.line(`${name}: ${bytesText(bytes)}, pushed ${carriedAt.toISOString()}`)
    return exitCode.good
  })
}

export function deleteInBucket(name: string, url: string, { json }: BackupOptions, terminal: Terminal) {
  return withBucket(url, async (bucket) => {
    await bucket.delete(name)
    if (!json) terminal.line(`${name} deleted from ${url}`)
    return exitCode.good
  })
}

async function carry(
  client: Client,
  name: string,
  bucket: Bucket,
  terminal: Terminal,
  { check }: { readonly check?: boolean } = {},
): Promise<void> {
  const { bytes } = await client.backups.info(name)
  const stream = counted(await client.backups.download(name), `pushing ${name}`, bytes, terminal)
  await bucket.put(name, stream, { bytesAbout: bytes, check })
}

async function withBucket<T>(url: string, act: (bucket: Bucket) => Promise<T>): Promise<T> {
  const place = parseBucketPlace(url)
  if (place === undefined) throw usageError(`"${url}" is not a bucket URL; use s3://BUCKET or s3://BUCKET/PREFIX`)
  const bucket = new Bucket(place)
  try {
    return await act(bucket)
  } catch (error) {
    if (error instanceof BucketError) throw refusal(error)
    throw error
  } finally {
    bucket.close()
  }
}
