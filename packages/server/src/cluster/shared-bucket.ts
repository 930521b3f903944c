// The shared store of a cluster in a bucket.
import { StoreUnavailable } from '@annal/wal/replicated'
import type { S3Client } from '@aws-sdk/client-s3'
import type { BucketPlace } from '../backups/bucket-place.ts'
import { openS3Client } from '../backups/s3-client.ts'
import { Objects } from './objects.ts'
import type { SharedStore } from './shared-store.ts'

/** Objects under the prefix of a bucket. Nodes of one cluster use the same prefix, and other clusters another one. */
export class SharedBucket implements SharedStore {
  readonly at: string
  readonly objectBytesMax = 16 * 1024 * 1024
  readonly #client: S3Client
  readonly #objects: Objects

  constructor(place: BucketPlace) {
    this.at = `s3://${place.bucket}/${place.prefix}`
    this.#client = openS3Client()
    this.#objects = new Objects(this.#client, place)
  }

  checkRoom(): Promise<void> {
    // A bucket has no limit.
    return Promise.resolve()
  }

  async put(key: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    const outcome = await this.#objects.put(key, bytes, 'absent')
    if (outcome === 'stored') return 'stored'
    if (outcome === 'refused') return 'exists'
    throw this.#objects.putTrouble ?? new StoreUnavailable(`${this.at} did not confirm an object`)
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return (await this.#objects.get(key))?.bytes
  }

  has(key: string): Promise<boolean> {
    return this.#objects.has(key)
  }

  list(folder: string): Promise<string[]> {
    return this.#objects.list(folder)
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#objects.delete(keys)
  }

  close(): void {
    this.#client.destroy()
  }
}
