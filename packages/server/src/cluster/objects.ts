// The few operations on objects that a log in a bucket is made of, with what each outcome means. Every object is read and
// written whole.
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { BucketUnavailable, isMissingBucket, statusOf } from './bucket-trouble.ts'

/**
 * What became of a conditional put. `stored`: the object is the one that was sent. `refused`: the condition did not hold.
 * `unknown`: the object may be stored, be stored later, or never.
 */
export type PutOutcome = 'stored' | 'refused' | 'unknown'

/** When a put may take effect: the object does not exist, or is the one with this ETag. */
export type PutCondition = 'absent' | { readonly etag: string }

/** An object with its ETag. */
export interface FoundObject {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** One request of S3 deletes or lists at most this many objects. */
const keysMax = 1000
const notFound = 404
const conditionFailed = 412

/** Objects of a bucket under a prefix. Every method but `put` throws BucketUnavailable when the bucket cannot be used. */
export class Objects {
  readonly #client: S3Client
  readonly #place: BucketPlace
  #putTrouble: BucketUnavailable | undefined

  constructor(client: S3Client, place: BucketPlace) {
    this.#client = client
    this.#place = place
  }

  /** Why the newest put with the outcome `unknown` has it. */
  get putTrouble(): BucketUnavailable | undefined {
    return this.#putTrouble
  }

  async put(key: string, bytes: Uint8Array, condition: PutCondition): Promise<PutOutcome> {
    const wanted = condition === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: condition.etag }
    try {
      await this.#client.send(new PutObjectCommand({ ...this.#object(key), ...wanted, Body: bytes }))
      return 'stored'
    } catch (error) {
      if (statusOf(error) === conditionFailed) return 'refused'
      this.#putTrouble = new BucketUnavailable(this.#place.bucket, error)
      return 'unknown'
    }
  }

  async get(key: string): Promise<FoundObject | undefined> {
    return this.#found(async () => {
      const { Body: body, ETag: etag = '' } = await this.#client.send(new GetObjectCommand(this.#object(key)))
      return body && { bytes: await body.transformToByteArray(), etag }
    })
  }

  async has(key: string): Promise<boolean> {
    const head = await this.#found(() => this.#client.send(new HeadObjectCommand(this.#object(key))))
    return head !== undefined
  }

  /** Deletes the objects with keys of a folder that sort before `key`. */
  async deleteBefore(folder: string, key: string): Promise<void> {
    const { bucket: Bucket, prefix } = this.#place
    for (;;) {
      const page = await this.#available(() =>
        this.#client.send(new ListObjectsV2Command({ Bucket, Prefix: `${prefix}${folder}`, MaxKeys: keysMax })),
      )
      const keys = (page.Contents ?? []).flatMap(({ Key }) => (Key !== undefined && Key < prefix + key ? [Key] : []))
      if (keys.length === 0) return
      const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true }
      await this.#available(() => this.#client.send(new DeleteObjectsCommand({ Bucket, Delete })))
      if (keys.length < keysMax) return
    }
  }

  /** The keys of a folder, without the prefix, in order. Some servers list what was there a while ago. */
  async list(folder: string): Promise<string[]> {
    const { bucket: Bucket, prefix } = this.#place
    const keys: string[] = []
    for (let after: string | undefined; ; after = prefix + (keys.at(-1) ?? '')) {
      const page = await this.#available(() =>
        this.#client.send(
          new ListObjectsV2Command({
            ...{ Bucket, Prefix: prefix + folder, MaxKeys: keysMax },
            ...(after !== undefined && { StartAfter: after }),
          }),
        ),
      )
      const found = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key.slice(prefix.length)]))
      keys.push(...found)
      if (found.length < keysMax) return keys
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    const { bucket: Bucket, prefix } = this.#place
    for (let start = 0; start < keys.length; start += keysMax) {
      const Objects = keys.slice(start, start + keysMax).map((key) => ({ Key: prefix + key }))
      await this.#available(() =>
        this.#client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } })),
      )
    }
  }

  #object(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: this.#place.prefix + key }
  }

  #found<T>(request: () => Promise<T>): Promise<T | undefined> {
    return this.#available(async () => {
      try {
        return await request()
      } catch (error) {
        if (statusOf(error) === notFound && !isMissingBucket(error)) return undefined
        throw error
      }
    })
  }

  async #available<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw new BucketUnavailable(this.#place.bucket, error)
    }
  }
}
