// Backups in S3-compatible storage: each object is the stream of a download. Location and credentials come from the standard variables
// of S3 programs (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID ...).
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { BucketPlace } from './bucket-place.ts'

export interface CarriedBackup {
  readonly name: string
  readonly bytes: number
  readonly carriedAt: Date
}

interface BucketOptions {
  readonly partBytes?: number
  /** The same for a bucket and the folders in it. */
  readonly line?: Line
}

interface Line {
  readonly client: S3Client
  readonly closing: AbortController
}

/** What only buckets do. */
export type BucketErrorCode = 'bucket_failed'

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
/** S3 takes 10,000 parts of one object. */
const partsMax = 9_000
const partsAtOnce = 2
const connectTimeoutMs = 10_000
const answerTimeoutMs = 120_000

export class Bucket {
  readonly #line: Line
  readonly #place: BucketPlace
  readonly #partBytes: number

  constructor(place: BucketPlace, { partBytes = partBytesMin, line = newLine() }: BucketOptions = {}) {
    this.#place = place
    this.#partBytes = partBytes
    this.#line = line
  }

  /** A folder in it, which ends with it. */
  within(folder: string): Bucket {
    const place = { ...this.#place, prefix: `${this.#place.prefix}${folder}/` }
    return new Bucket(place, { partBytes: this.#partBytes, line: this.#line })
  }

  /** Rejects when it is not whole there; `check` reads it back and compares what came with what went. */
  async put(
    name: string,
    stream: AsyncIterable<Uint8Array>,
    { bytesAbout, check = false }: { readonly bytesAbout: number; readonly check?: boolean | undefined },
  ): Promise<void> {
    const sent = new Tally()
    const upload = new Upload({
      client: this.#line.client,
      params: { ...this.#object(name), Body: Readable.from(sent.counting(stream), { objectMode: false }) },
      partSize: Math.max(this.#partBytes, Math.ceil(bytesAbout / partsMax)),
      queueSize: partsAtOnce,
    })
    const abort = () => void upload.abort()
    this.#line.closing.signal.addEventListener('abort', abort)
    try {
      await this.#asking(name, () => upload.done())
    } finally {
      this.#line.closing.signal.removeEventListener('abort', abort)
    }
    const head = await this.#asking(name, () => this.#line.client.send(new HeadObjectCommand(this.#object(name))))
    if (head.ContentLength !== sent.bytes)
      throw new BucketError(
        'bucket_failed',
        `${this.#at(name)} has ${head.ContentLength} bytes instead of ${sent.bytes}`,
      )
    if (!check) return
    const came = new Tally()
    await this.#asking(name, async () => {
      for await (const _ of came.counting(await this.get(name)));
    })
    if (came.sha256() !== sent.sha256())
      throw new BucketError('backup_damaged', `${this.#at(name)} does not match what was sent`)
  }

  /** The stream that `put` was given. Throws backup_not_found. */
  async get(name: string): Promise<AsyncIterable<Uint8Array>> {
    const { Body: body } = await this.#asking(name, () =>
      this.#line.client.send(new GetObjectCommand(this.#object(name)), { abortSignal: this.#line.closing.signal }),
    )
    if (body instanceof Readable) return body
    throw new BucketError('bucket_failed', `${this.#at(name)} was returned without a body`)
  }

  /** By name. Other objects are passed over. */
  async list(): Promise<CarriedBackup[]> {
    const { bucket: Bucket, prefix: Prefix } = this.#place
    return this.#asking('', async () => {
      const found: CarriedBackup[] = []
      for await (const page of paginateListObjectsV2(
        { client: this.#line.client },
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

  /** Nothing happens when it is not there. */
  async delete(name: string): Promise<void> {
    await this.#asking(name, () => this.#line.client.send(new DeleteObjectCommand(this.#object(name))))
  }

  /** Cancels the running transfer. */
  close(): void {
    this.#line.closing.abort()
    this.#line.client.destroy()
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

  async #asking<T>(name: string, act: () => Promise<T>): Promise<T> {
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

function newLine(): Line {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION } = process.env
  const client = new S3Client({
    region: AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1',
    // Virtual-hosted bucket names work only on AWS itself.
    forcePathStyle: (AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL) !== undefined,
    // The stream has checksums of its own; not everybody who speaks S3 knows the newer ones.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectTimeoutMs, requestTimeout: answerTimeoutMs },
  })
  return { client, closing: new AbortController() }
}

/** How many bytes went by, and which. */
class Tally {
  readonly #hash = createHash('sha256')
  bytes = 0

  async *counting(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of stream) {
      this.#hash.update(piece)
      this.bytes += piece.length
      yield piece
    }
  }

  /** At the end, once. */
  sha256(): string {
    return this.#hash.digest('hex')
  }
}

/** What S3 calls it, or what the network did. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return error.message === '' || error.message === code ? code : `${code}: ${error.message}`
}
