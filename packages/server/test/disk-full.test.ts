// A disk that fills up and empties again: writes are rejected with 507, reads continue, health reports it, and writes resume automatically
// without loss.
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'tap'
import { eventually } from './eventually.ts'
import { type Answer, send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const mebibyte = 1_048_576

test('a full disk is 507 for writes and has no effect on reads, and writes resume afterwards', {
  timeout: 120_000,
}, async (t) => {
  const place = await temporaryDirectory(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', place], { stdio: 'pipe' })
  } catch (error) {
    t.comment(`SKIPPED: nothing can be mounted here: ${String(error)}`)
    return
  }
  t.teardown(async () => execFileSync('umount', ['-l', place]))
  const running = startProcess({ NDD_DATA_DIR: path.join(place, 'data') })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const json = { index_name: 'docs', dim: 4, space_type: 'l2' }
  t.equal((await send(url, 'POST', '/api/v1/index/create', { json })).status, 200)
  t.equal((await send(url, 'POST', '/api/v1/index/create', { json: { ...json, index_name: 'dropped' } })).status, 200)
  let made = 0
  const insert = (): Promise<Answer> => {
    made += 1
    return send(url, 'POST', '/api/v1/index/docs/vector/insert', { json: { id: `v${made}`, vector: [made, 0, 0, 0] } })
  }
  t.equal((await insert()).status, 200)

  const filler = path.join(place, 'filler')
  await writeFile(filler, Buffer.alloc(390 * mebibyte)).catch((error: unknown) => t.match(error, { code: 'ENOSPC' }))
  const refused = await eventually(async () => {
    const answer = await insert()
    return answer.status === 200 ? undefined : answer
  })
  t.equal(refused.status, 507, refused.text)
  t.match(refused.json().code, /^(read_only|disk_full)$/)
  t.equal(refused.headers.get('retry-after'), '10')
  t.notMatch(refused.text, place, 'no path')
  const search = await send(url, 'POST', '/api/v1/index/docs/search', { json: { k: 1, vector: [1, 0, 0, 0] } })
  t.equal(search.status, 200, 'searches go on')
  const health = await send(url, 'GET', '/api/v1/health')
  t.equal(health.status, 200)
  t.match(health.json().status, /^(read-only|degraded)$/)
  t.equal((await send(url, 'DELETE', '/api/v1/index/docs/vector/v1/delete')).status, 200, 'deletes go on')
  t.equal((await send(url, 'GET', '/api/v1/index/docs/info')).json().total_elements, made - 2, 'v1 and the refused one')
  const drop = await send(url, 'DELETE', '/api/v1/index/dropped/delete')
  t.equal(drop.status, 200, `drops go on: ${drop.text}`)
  t.equal((await insert()).status, 507)

  await rm(filler)
  const back = await eventually(async () => {
    const answer = await insert()
    return answer.status === 200 ? answer : undefined
  })
  t.equal(back.status, 200, 'writing resumes automatically')
  // Serving threads answer with a state that may be a quarter of a second old.
  await eventually(async () => (await send(url, 'GET', '/api/v1/health')).json().status === 'ok' || undefined)
  const { total_elements: stored } = (await send(url, 'GET', '/api/v1/index/docs/info')).json()
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 0)

  const after = startProcess({ NDD_DATA_DIR: path.join(place, 'data') })
  t.teardown(() => after.child.kill('SIGKILL'))
  t.match((await send(await after.serving, 'GET', '/api/v1/index/docs/info')).json(), { total_elements: stored })
  after.child.kill('SIGTERM')
  t.equal((await after.ended).code, 0)
})
