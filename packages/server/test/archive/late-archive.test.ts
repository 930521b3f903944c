// The settings of an archive over HTTP: writes that are refused or not confirmed, health, and metrics.
import tap, { test } from 'tap'
import { soundObjects } from '../cluster/object-server.ts'
import { until } from '../eventually.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { startProcess } from '../running-process.ts'
import { newWorld } from './rig.ts'

tap.setTimeout(300_000)

test('a required archive that is late rejects writes by name, and reads continue', async (t) => {
  const world = await newWorld(t)
  const running = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_ARCHIVE_S3: 's3://annal/x',
    NDD_ARCHIVE_REQUIRED: 'on',
    NDD_ACK: 'archive',
    NDD_ARCHIVE_LAG_MAX_S: '1',
  })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const index = { index_name: 'docs', dim: 4, space_type: 'l2', precision: 'int8' }
  t.equal((await send(url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
  t.equal((await send(url, 'POST', '/api/v9/nothing', { json: index })).status, 404)
  world.server.faults = { ...soundObjects, refuse: 1 }
  const json = { objects: [{ id: 'a', fields: { dense: [1, 2, 3, 4] } }] }
  const first = send(url, 'POST', '/api/v2/collection/docs/objects', { json })
  await until(async () => (await send(url, 'GET', '/api/v2/health')).json().status === 'degraded')
  const second = await send(url, 'POST', '/api/v2/collection/docs/objects', { json })
  t.match(second.text, /archive_late/)
  t.equal(second.status, 503)
  t.equal((await send(url, 'GET', '/api/v2/collection/docs')).status, 200)
  // A write waits half a minute for the bucket.
  if (process.env.ANNAL_LONG === '1') {
    const unconfirmed = await first
    t.equal(unconfirmed.status, 503)
    t.match(unconfirmed.text, /archive_unconfirmed/)
  }
  world.server.faults = soundObjects
  if (process.env.ANNAL_LONG !== '1') t.equal((await first).status, 200, 'a write that waited is confirmed')
  await until(async () => (await send(url, 'GET', '/api/v2/health')).json().status === 'ok')
  t.equal((await send(url, 'POST', '/api/v2/collection/docs/objects', { json })).status, 200)
  // A marker of the log may have been written just now.
  await until(async () => /^annal_bucket_archive_lag_seconds 0$/m.test((await send(url, 'GET', '/metrics')).text))
  const metrics = (await send(url, 'GET', '/metrics')).text
  t.match(metrics, /^annal_bucket_archive_failures_total [1-9]/m)
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 0)
})
