// Why a bucket cannot be used at the moment, by name, from what its server replied or from how the connection failed.
import { StoreUnavailable } from '@annal/wal/replicated'
import { S3ServiceException } from '@aws-sdk/client-s3'

/** What is wrong. All of these can go away while the server runs. */
export type BucketTrouble = 'missing' | 'credentials' | 'unreachable' | 'timeout' | 'failing'

/** A bucket cannot be used at the moment. The caller tries again. */
export class BucketUnavailable extends StoreUnavailable {
  readonly trouble: BucketTrouble
  /** The HTTP status of the reply; undefined if there was none. */
  readonly status: number | undefined

  constructor(bucket: string, error: unknown) {
    const { trouble, what } = findingOf(error)
    super(`the bucket ${bucket} ${what}`, { cause: error })
    this.trouble = trouble
    this.status = statusOf(error)
  }
}

/** The HTTP status of a reply that was an error; undefined for any other error. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

/** Whether the bucket itself does not exist, and not an object of it. */
export function isMissingBucket(error: unknown): boolean {
  return error instanceof S3ServiceException && error.name === 'NoSuchBucket'
}

function findingOf(error: unknown): { readonly trouble: BucketTrouble; readonly what: string } {
  const status = statusOf(error)
  const name = error instanceof Error ? error.name : String(error)
  if (isMissingBucket(error)) return { trouble: 'missing', what: 'does not exist (NoSuchBucket)' }
  if (status === 401 || status === 403)
    return { trouble: 'credentials', what: `rejects the credentials (${status} ${name})` }
  if (status !== undefined) return { trouble: 'failing', what: `answers ${status} (${name})` }
  if (name === 'TimeoutError') return { trouble: 'timeout', what: 'does not answer in time' }
  // What the library throws without variables or a file that name a key.
  if (name === 'CredentialsProviderError')
    return { trouble: 'credentials', what: 'cannot be used: no credentials are set' }
  return { trouble: 'unreachable', what: `cannot be reached (${codeOf(error)})` }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message || error.name
}
