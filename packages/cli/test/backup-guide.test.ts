// Runs the disaster recovery of docs/guide/backup-and-restore.md, command by command, as written there.
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { freePort } from '../../server/test/free-port.ts'
import { commandScript } from '../../server/test/programs.ts'
import { s3Server } from '../../server/test/s3-server.ts'
import { freshDir } from './command.ts'

// For the whole file; a loaded machine is slow.
tap.setTimeout(600_000)

const guide = fileURLToPath(new URL('../../../docs/guide/backup-and-restore.md', import.meta.url))

test('the commands of the guide save what it says they save', { timeout: 600_000 }, async (t) => {
  const dir = freshDir(t)
  const port = await freePort()
  const { endpoint } = await s3Server(t)
  const command = path.join(dir, 'annal')
  writeFileSync(command, commandScript)
  chmodSync(command, 0o755)
  const blocks = [...readFileSync(guide, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, code]) => code)
  // Stops the servers it started, whatever fails.
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${blocks.join('echo ----\n')}`
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-euo', 'pipefail', '-c', script.replaceAll('8080', String(port)).replaceAll('http://127.0.0.1:9000', endpoint)],
    {
      cwd: dir,
      env: {
        PATH: `${dir}:${path.dirname(process.execPath)}:${process.env.PATH}`,
        NDD_SERVER_PORT: String(port),
        NDD_SERVER_URL: `http://127.0.0.1:${port}`,
        NDD_NUM_THREADS: '1',
        NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS ?? '1',
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      },
    },
  )
  const outputs = stdout.split('----\n')
  const [, , backedUp = '', carried = '', disaster = '', moment = '', backup = '', whole = ''] = outputs
  const [elsewhere = '', fromBucket = ''] = outputs.slice(8)
  const five = /product-1.*product-2.*product-3.*product-4.*product-5/s
  t.match(backedUp, /before-sale: products, 5 objects/)
  t.match(carried, /before-sale pushed to s3:.*before-sale: .*pushed/s)
  t.match(disaster, /"deleted":3/)
  t.match(moment, five, 'the moment has them all')
  t.match(moment, '"price":55', 'and the change before the deletion')
  t.match(backup, 'before-sale: products, 5 objects')
  t.match(whole, five)
  t.match(whole, '"price":55')
  t.match(elsewhere, five)
  t.notMatch(elsewhere, '"price":55', 'the backup is of before the change')
  t.match(fromBucket, /before-sale pulled/)
  t.match(fromBucket, five)
})
