// Backups in a bucket from the command line, with a data directory instead of a server.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import tap, { test } from 'tap'
import { s3Bucket, s3Server } from '../../server/test/s3-server.ts'
import { annal, type Ended, freshDir } from './command.ts'

// For the whole file; a loaded machine is slow.
tap.setTimeout(300_000)

test('a backup goes to a bucket and comes back under another name', async (t) => {
  const { environment } = await s3Server(t)
  const dir = freshDir(t)
  const bucketUrl = `s3://${s3Bucket}/shop`
  const file = path.join(dir, 'objects.jsonl')
  writeFileSync(file, '{"id":"a","fields":{"v":[1,0]}}\n{"id":"b","fields":{"v":[0,1]}}\n')
  const ended = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> =>
    annal([...args, '-d', path.join(dir, 'data')], { ...environment, ...more })
  t.equal((await ended(['import', 'things', file, '--create'])).code, 0)
  t.match(await ended(['backup', 'create', 'things', 'first', '--to', bucketUrl]), { code: 0, out: /first: things/ })
  const { out } = await ended(['backup', 'list', '--at', bucketUrl, '--json'])
  t.match(JSON.parse(out), { backups: [{ name: 'first', bytes: Number }] })
  t.match(await ended(['backup', 'pull', 'first', bucketUrl, '--name', 'again']), { code: 0, out: 'again pulled' })
  t.match(await ended(['restore', 'again', 'copy']), { code: 0, out: '2 objects' })
  t.match(await ended(['backup', 'push', 'again', bucketUrl, '--check']), {
    code: 0,
    out: `again pushed to ${bucketUrl}`,
  })
  t.match(await ended(['backup', 'delete', 'first', '--at', bucketUrl]), { code: 0 })
  t.match(await ended(['backup', 'list', '--at', bucketUrl]), { code: 0, out: /^again: / })

  t.match(await ended(['backup', 'pull', 'first', bucketUrl]), { code: 76, err: /no s3:.*backup_not_found/ })
  t.match(await ended(['backup', 'push', 'again', 'https://elsewhere']), {
    code: 64,
    err: /not a bucket URL/,
  })
  const away = { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' }
  t.match(await ended(['backup', 'list', '--at', bucketUrl], away), { code: 69, err: /bucket_failed/ })
})
