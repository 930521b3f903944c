// Backups in storage with the S3 API. Each object is the stream of a download.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { BucketPlace } from './bucket-place.ts'
import { openS3Client } from './s3-client.ts'

/** A backup in a bucket. */
export interface CarriedBackup {
  readonly name: string
  readonly bytes: number
  readonly carriedAt: Date
}

interface BucketOptions {
  readonly partBytes?: number
  /** Connection shared by a bucket and its folders. */
  readonly connection?: Connection
}

interface Connection {
  readonly client: S3Client
  readonly closing: AbortController
}

/** Error code that only buckets use. */
export type BucketErrorCode = 'bucket_failed'

/** An operation of a bucket failed. */
export class BucketError extends Error {
  override readonly name = 'BucketError'
  readonly code: BucketErrorCode | 'backup_not_found' | 'backup_damaged' | 'invalid_argument'

  constructor(code: BucketError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

const suffix = '.annal-backup'
const nameForm = /^[A-Za-z0-9_-]{1,200}$/
const partBytesMin = 8 * 1024 * 1024
/** S3 accepts 10,000 parts per object. */
const partsMax = 9_000
const partsConcurrentMax = 2

/** Backups in a bucket, or in a folder of one. */
export class Bucket {
  readonly #connection: Connection
  readonly #place: BucketPlace
  readonly #partBytes: number

  constructor(place: BucketPlace, { partBytes = partBytesMin, connection = openConnection() }: BucketOptions = {}) {
    this.#place = place
    this.#partBytes = partBytes
    this.#connection = connection
  }

  /** A folder of this bucket. Closing one closes both. */
  within(folder: string): Bucket {
    const place = { ...this.#place, prefix: `${this.#place.prefix}${folder}/` }
    return new Bucket(place, { partBytes: this.#partBytes, connection: this.#connection })
  }

  /**
   * Uploads a stream. Rejects unless the object is complete; with `check`, it is also downloaded and compared with what was sent.
   */
  async put(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    { bytesAbout, check = false }: { readonly bytesAbout: number; readonly check?: boolean | undefined },
  ): Promise<void> {
    const sent = new ByteCounter()
    const upload = new Upload({
      client: this.#connection.client,
      params: { ...this.#object(name), Body: Readable.from(sent.counting(stream), { objectMode: false }) },
      partSize: Math.max(this.#partBytes, Math.ceil(bytesAbout / partsMax)),
      queueSize: partsConcurrentMax,
    })
    const abort = () => void upload.abort()
    this.#connection.closing.signal.addEventListener('abort', abort)
    try {
      await this.#attempt(name, () => upload.done())
    } finally {
      this.#connection.closing.signal.removeEventListener('abort', abort)
    }
    const head = await this.#attempt(name, () =>
      this.#connection.client.send(new HeadObjectCommand(this.#object(name))),
    )
    if (head.ContentLength !== sent.bytes)
      throw new BucketError(
        'bucket_failed',
        `${this.#at(name)} has ${head.ContentLength} bytes instead of ${sent.bytes}`,
      )
    if (!check) return
    const received = new ByteCounter()
    await this.#attempt(name, async () => {
      for await (const _ of received.counting(await this.get(name)));
    })
    if (received.sha256() !== sent.sha256())
      throw new BucketError('backup_damaged', `${this.#at(name)} does not match what was sent`)
  }

  /** Downloads the stream that `put` uploaded. Throws backup_not_found. */
  async get(name: string): Promise<AsyncIterable<Uint8Array>> {
    const { Body: body } = await this.#attempt(name, () =>
      this.#connection.client.send(new GetObjectCommand(this.#object(name)), {
        abortSignal: this.#connection.closing.signal,
      }),
    )
    if (body instanceof Readable) return body
    throw new BucketError('bucket_failed', `${this.#at(name)} was returned without a body`)
  }

  /** Lists the backups, sorted by name. Objects that are not backups are skipped. */
  async list(): Promise<CarriedBackup[]> {
    const { bucket: Bucket, prefix: Prefix } = this.#place
    return this.#attempt('', async () => {
      const found: CarriedBackup[] = []
      for await (const page of paginateListObjectsV2(
        { client: this.#connection.client },
        { Bucket, Prefix, Delimiter: '/' },
      )) {
        for (const { Key: key = '', Size: bytes = 0, LastModified: carriedAt = new Date(0) } of page.Contents ?? []) {
          const name = key.slice(Prefix.length, -suffix.length)
          if (key.endsWith(suffix) && nameForm.test(name)) found.push({ name, bytes, carriedAt })
        }
      }
      return found.sort((a, b) => (a.name < b.name ? -1 : 1))
    })
  }

  /** Deletes a backup. Does nothing if it does not exist. */
  async delete(name: string): Promise<void> {
    await this.#attempt(name, () => this.#connection.client.send(new DeleteObjectCommand(this.#object(name))))
  }

  /** Cancels the running transfer. */
  close(): void {
    this.#connection.closing.abort()
    this.#connection.client.destroy()
  }

  #object(name: string): { readonly Bucket: string; readonly Key: string } {
    if (!nameForm.test(name))
      throw new BucketError(
        'invalid_argument',
        `"${name}" cannot be the name of a backup: letters, digits, "_" and "-"`,
      )
    return { Bucket: this.#place.bucket, Key: `${this.#place.prefix}${name}${suffix}` }
  }

  #at(name: string): string {
    return `s3://${this.#place.bucket}/${this.#place.prefix}${name === '' ? '' : `${name}${suffix}`}`
  }

  async #attempt<T>(name: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      if (error instanceof BucketError) throw error
      const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
      if (status === 404 && name !== '')
        throw new BucketError('backup_not_found', `there is no ${this.#at(name)}`, { cause: error })
      throw new BucketError('bucket_failed', `${this.#at(name)}: ${reasonOf(error)}`, { cause: error })
    }
  }
}

function openConnection(): Connection {
  return { client: openS3Client(), closing: new AbortController() }
}

/** Counts and hashes the bytes that pass through. */
class ByteCounter {
  readonly #hash = createHash('sha256')
  bytes = 0

  async *counting(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of stream) {
      this.#hash.update(piece)
      this.bytes += piece.length
      yield piece
    }
  }

  /** Call it once, after the last byte. */
  sha256(): string {
    return this.#hash.digest('hex')
  }
}

/** The error code of S3 or of the network, with its message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return error.message === '' || error.message === code ? code : `${code}: ${error.message}`
}
