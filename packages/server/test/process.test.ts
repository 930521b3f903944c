// The process from start to end: one line of output at the start, an orderly stop, and one clear line with an exit code for each error.
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import tap, { type Test, test } from 'tap'
import { until } from './eventually.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

// Starts ten processes, each of which takes seconds on a busy machine.
tap.setTimeout(300_000)

const index = { index_name: 'docs', dim: 4, space_type: 'l2', precision: 'float32' }

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends the process with 0 and keeps everything that was acknowledged`, async (t) => {
    const dataDir = path.join(await temporaryDirectory(t), 'made', 'when', 'absent')
    const first = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => first.child.kill('SIGKILL'))
    const url = await first.serving
    t.equal((await send(url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
    const vectors = Array.from({ length: 50 }, (_, i) => ({ id: `v${i}`, vector: [i, 0, 0, 0] }))
    t.equal((await send(url, 'POST', '/api/v1/index/docs/vector/insert', { json: vectors })).status, 200)
    first.child.kill(signal)
    first.child.kill(signal)
    t.strictSame(await first.ended, { code: 0, signal: null })
    t.match(
      // Without log lines, for example about a slow disk.
      first.stdout().replaceAll(/^\{.*\n/gm, ''),
      new RegExp(`^Annal serves http://127.0.0.1:\\d+ with data in ${dataDir} .*\\n$`),
      'one friendly line',
    )

    const second = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => second.child.kill('SIGKILL'))
    const again = await second.serving
    t.match((await send(again, 'GET', '/api/v1/index/docs/info')).json(), { total_elements: 50 })
    second.child.kill('SIGTERM')
    t.equal((await second.ended).code, 0)
  })
}

test('a request that runs when the signal arrives gets its reply', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const running = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = new URL(await running.serving)
  const body = JSON.stringify(index)
  let heard = ''
  const socket = net.connect(Number(url.port), url.hostname)
  socket.on('data', (bytes) => {
    heard += bytes.toString()
  })
  // The server replies with 100 when the request runs, and the process prints a line when the signal arrives.
  const head = `POST /api/v1/index/create HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.write(head)
  await until(() => heard.startsWith('HTTP/1.1 100 '))
  running.child.kill('SIGTERM')
  await until(() => running.stderr().includes('SIGTERM, stopping'))
  socket.write(body)
  await once(socket, 'close')
  t.match(heard, /\r\n\r\nHTTP\/1\.1 200 /)
  t.equal((await running.ended).code, 0)
})

test('a port in use is one clear line and exit code 69', async (t) => {
  const holder = net.createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => holder.close(resolve)))
  const { port } = holder.address() as net.AddressInfo
  const running = startProcess({ NDD_DATA_DIR: await temporaryDirectory(t), NDD_SERVER_PORT: String(port) })
  await endsWith(t, running, 69, new RegExp(`127\\.0\\.0\\.1:${port} is in use`))
})

test('a directory in use is one clear line and exit code 73, and its owner continues', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const owner = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => owner.child.kill('SIGKILL'))
  const url = await owner.serving
  await endsWith(t, startProcess({ NDD_DATA_DIR: dataDir }), 73, new RegExp(String(owner.child.pid)))
  t.equal((await send(url, 'GET', '/api/v1/health')).status, 200)
})

test('a directory that cannot be created is one clear line and exit code 77', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'file')
  await writeFile(file, 'no directory')
  await endsWith(t, startProcess({ NDD_DATA_DIR: path.join(file, 'data') }), 77, /data directory cannot be used/)
  await endsWith(t, startProcess({ NDD_DATA_DIR: file }), 77, /data directory cannot be used/)
})

test('a directory below a virtual file is one clear line, and the process exits', async (t) => {
  if (process.platform !== 'linux') return t.comment('there is no /proc here')
  for (const place of ['/proc/annal', '/proc/annal/data', '/proc/version/data', '/proc/self/fd/data'])
    await endsWith(t, startProcess({ NDD_DATA_DIR: place }), 77, /data directory cannot be used/)
})

test('invalid settings are one line each and exit code 64', async (t) => {
  const running = startProcess({ NDD_SERVER_PORT: 'eighty', NDD_FSYNC: 'maybe' })
  t.equal((await running.ended).code, 64)
  t.match(running.stderr(), /^annal: NDD_SERVER_PORT .*\nannal: NDD_FSYNC .*\n$/)
})

test('a damaged log is one clear line that names the file, and exit code 65', async (t) => {
  const dataDir = await temporaryDirectory(t)
  await mkdir(path.join(dataDir, 'wal'), { recursive: true })
  const first = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => first.child.kill('SIGKILL'))
  t.equal((await send(await first.serving, 'POST', '/api/v1/index/create', { json: index })).status, 200)
  first.child.kill('SIGTERM')
  await first.ended
  await damageLog(path.join(dataDir, 'wal'))
  await endsWith(t, startProcess({ NDD_DATA_DIR: dataDir }), 65, /\.wal/)
})

async function damageLog(dir: string): Promise<void> {
  for (const name of (await readdir(dir)).filter((file) => file.endsWith('.wal'))) {
    const bytes = await readFile(path.join(dir, name))
    for (let i = 64; i < bytes.length; i += 7) bytes[i]! ^= 0x55
    await writeFile(path.join(dir, name), bytes)
  }
}

async function endsWith(t: Test, running: RunningProcess, code: number, line: RegExp): Promise<void> {
  t.teardown(() => running.child.kill('SIGKILL'))
  t.equal((await running.ended).code, code)
  // Without lines that a slow machine causes: progress of the start, and the log of a slow disk.
  const said = running.stderr().replaceAll(/^annal: starting: .*\n/gm, '')
  t.match(said, line)
  t.notMatch(running.stdout(), 'serves', 'it never says that it serves')
  t.equal(said.trimEnd().split('\n').length, 1, `one line: ${said}`)
}
