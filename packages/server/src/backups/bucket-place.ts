// The address of a bucket as people write it: s3://BUCKET/PREFIX.

export interface BucketPlace {
  readonly bucket: string
  /** Ends with a slash, or is empty. */
  readonly prefix: string
}

const placeForm = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]{0,500}))?$/

/** Undefined when it is no place in S3. */
export function parseBucketPlace(url: string): BucketPlace | undefined {
  const [, bucket, path = ''] = placeForm.exec(url) ?? []
  if (bucket === undefined) return undefined
  const prefix = path.split('/').filter((part) => part !== '')
  return { bucket, prefix: prefix.map((part) => `${part}/`).join('') }
}
