// Backups in a bucket with the S3 API: complete or absent, in many parts, read back, with clear errors.
import { randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import tap, { test } from 'tap'
import { Bucket } from '../src/backups/bucket.ts'
import { parseBucketPlace } from '../src/backups/bucket-place.ts'
import { s3Bucket, s3Server, setVariable } from './s3-server.ts'

// For the whole file; a busy machine takes longer.
tap.setTimeout(300_000)

const mebibyte = 1024 * 1024

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 100_000) yield bytes.subarray(start, start + 100_000)
}

async function all(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  for await (const piece of stream) found.push(piece)
  return Buffer.concat(found)
}

test('a valid bucket address is parsed, and anything else is refused', async (t) => {
  t.same(parseBucketPlace('s3://bucket'), { bucket: 'bucket', prefix: '' })
  t.same(parseBucketPlace('s3://bucket/'), { bucket: 'bucket', prefix: '' })
  t.same(parseBucketPlace('s3://bucket/a//b/'), { bucket: 'bucket', prefix: 'a/b/' })
  for (const wrong of ['', 'bucket', 's3://', 's3://B', 'https://bucket/a', 's3://bucket/a b', 's3://bucket/a?b'])
    t.equal(parseBucketPlace(wrong), undefined, wrong)
})

test('uploaded files are returned, listed, and deleted, and other files in the bucket are not touched', async (t) => {
  const { directory } = await s3Server(t)
  const bucket = new Bucket({ bucket: s3Bucket, prefix: 'here/' }, { partBytes: 5 * mebibyte })
  const other = new Bucket({ bucket: s3Bucket, prefix: '' })
  t.teardown(() => [bucket, other].map((one) => one.close()))
  t.same(await bucket.list(), [])
  const small = randomBytes(1_000)
  const inParts = randomBytes(12 * mebibyte + 17)
  await bucket.put('small', pieces(small), { bytesAbout: small.length, check: true })
  await bucket.put('in-parts', pieces(inParts), { bytesAbout: inParts.length, check: true })
  await other.put('elsewhere', pieces(small), { bytesAbout: small.length })
  await bucket.within('shop').put('deeper', pieces(small), { bytesAbout: small.length })
  t.same(
    (await bucket.list()).map(({ name, bytes }) => [name, bytes]),
    [
      ['in-parts', inParts.length],
      ['small', small.length],
    ],
  )
  t.ok((await all(await bucket.get('small'))).equals(small))
  t.ok((await all(await bucket.get('in-parts'))).equals(inParts))
  t.same(
    (await bucket.within('shop').list()).map(({ name }) => name),
    ['deeper'],
  )
  await bucket.delete('small')
  await bucket.delete('small')
  await t.rejects(bucket.get('small'), { code: 'backup_not_found', message: /here\/small/ })
  await t.rejects(bucket.put('../x', pieces(small), { bytesAbout: small.length }), { code: 'invalid_argument' })
  t.same(
    (await other.list()).map(({ name }) => name),
    ['elsewhere'],
  )
  const left = await readdir(path.join(directory, s3Bucket), { recursive: true })
  t.notOk(
    left.some((name) => name.includes('small')),
    'nothing of it is left there',
  )
})

test('a bucket that damages files, refuses requests, or is unreachable is reported as such', async (t) => {
  const { directory } = await s3Server(t)
  const bytes = randomBytes(10_000)
  const bucket = new Bucket({ bucket: s3Bucket, prefix: '' })
  t.teardown(() => bucket.close())
  const failing = (async function* (): AsyncGenerator<Uint8Array> {
    yield bytes
    throw new Error('the disk is gone')
  })()
  await t.rejects(bucket.put('cut', failing, { bytesAbout: 20_000 }), {
    code: 'bucket_failed',
    message: /disk is gone/,
  })
  await bucket.put('spoilt', pieces(bytes), { bytesAbout: bytes.length })
  const file = (await readdir(path.join(directory, s3Bucket))).find(
    (name) => name.startsWith('spoilt') && name.endsWith('object'),
  )
  await writeFile(path.join(directory, s3Bucket, file ?? ''), Buffer.alloc(bytes.length))
  t.notOk((await all(await bucket.get('spoilt'))).equals(bytes), 'who takes it compares checksums')
  const nowhere = new Bucket({ bucket: 'nobody-made-it', prefix: '' })
  t.teardown(() => nowhere.close())
  await t.rejects(nowhere.list(), { code: 'bucket_failed', message: /nobody-made-it.*NoSuchBucket/ })

  setVariable(t, 'AWS_ACCESS_KEY_ID', 'unknown')
  const stranger = new Bucket({ bucket: s3Bucket, prefix: '' })
  t.teardown(() => stranger.close())
  await t.rejects(stranger.put('x', pieces(bytes), { bytesAbout: bytes.length }), {
    code: 'bucket_failed',
    message: /InvalidAccessKeyId/,
  })
  setVariable(t, 'AWS_ENDPOINT_URL_S3', 'http://127.0.0.1:1')
  const away = new Bucket({ bucket: s3Bucket, prefix: '' })
  t.teardown(() => away.close())
  await t.rejects(away.list(), { code: 'bucket_failed', message: /ECONNREFUSED/ })
})
