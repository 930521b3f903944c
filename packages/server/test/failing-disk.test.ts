// A disk that fails to make data durable: the process prints one line and exits with 74, acknowledges nothing that it cannot keep, and a
// restart has everything that was acknowledged.
import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const shimSource = fileURLToPath(new URL('../../wal/test/native/fail-calls.c', import.meta.url))

test('a failed fdatasync ends the process with 74 and loses nothing that was acknowledged', {
  timeout: 120_000,
}, async (t) => {
  const dir = await temporaryDirectory(t)
  const shim = path.join(dir, 'shim.so')
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, shimSource, '-ldl'], { stdio: 'pipe' })
  } catch (error) {
    t.comment(`SKIPPED: the shim cannot be compiled here: ${String(error)}`)
    return
  }
  for (const callNumber of [12, 20]) {
    const dataDir = path.join(dir, `data-${callNumber}`)
    await mkdir(dataDir)
    const failing = startProcess({
      NDD_DATA_DIR: dataDir,
      LD_PRELOAD: shim,
      SHIM_DIR: dataDir,
      SHIM_CALL: 'fdatasync',
      SHIM_AT: String(callNumber),
      SHIM_ERRNO: String(constants.errno.EIO),
    })
    t.teardown(() => failing.child.kill('SIGKILL'))
    const url = await failing.serving
    const json = { index_name: 'docs', dim: 2, space_type: 'l2' }
    t.equal((await send(url, 'POST', '/api/v1/index/create', { json })).status, 200)
    const acknowledged: string[] = []
    for (let i = 0; i < 100; i++) {
      const vectors = { json: [{ id: `v${i}`, vector: [i, 1] }] }
      const answer = await send(url, 'POST', '/api/v1/index/docs/vector/insert', vectors).catch(() => undefined)
      if (answer === undefined) break
      if (answer.status === 200) acknowledged.push(`v${i}`)
      else t.match([answer.status, answer.json().code], [503, /log_failed|log_closed|closed/])
    }
    t.equal((await failing.ended).code, 74)
    t.equal(failing.stderr().trimEnd().split('\n').length, 1, failing.stderr())
    t.ok(acknowledged.length < 100, `${acknowledged.length} were acknowledged before the disk failed`)

    const after = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => after.child.kill('SIGKILL'))
    const again = await after.serving
    for (const id of acknowledged) {
      t.equal((await send(again, 'POST', '/api/v1/index/docs/vector/get', { json: { id } })).status, 200, id)
    }
    after.child.kill('SIGTERM')
    t.equal((await after.ended).code, 0)
  }
})
