// The address of a bucket in settings and on the command line: s3://BUCKET/PREFIX.

/** A bucket and a prefix in it. */
export interface BucketPlace {
  readonly bucket: string
  /** Ends with a slash, or is empty. */
  readonly prefix: string
}

const placeForm = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]{0,500}))?$/

/** Parses an address. Returns undefined if it is not an s3:// address. */
export function parseBucketPlace(url: string): BucketPlace | undefined {
  const [, bucket, path = ''] = placeForm.exec(url) ?? []
  if (bucket === undefined) return undefined
  const prefix = path.split('/').filter((part) => part !== '')
  return { bucket, prefix: prefix.map((part) => `${part}/`).join('') }
}
