// HTTPS: old protocol versions are refused, a key that others can read is refused, and a renewed certificate is used without a restart.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { test } from 'tap'
import { until } from './eventually.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

function makeCertificate(dir: string, name: string): { cert: string; key: string } {
  const cert = path.join(dir, `${name}.pem`)
  const key = path.join(dir, `${name}.key`)
  const subject = `/CN=${name}`
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, '-subj', subject, '-days', '2'],
    { stdio: 'pipe' },
  )
  return { cert, key }
}

/** The name in the certificate of the server, after one request. */
function ask(port: number, options: tls.ConnectionOptions = {}): Promise<{ name: string; reply: string }> {
  return new Promise((resolve, reject) => {
    // The certificates are self-signed; the test checks which of them is used.
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
      socket.write('GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    })
    let reply = ''
    const name = () => String(socket.getPeerCertificate().subject?.CN)
    let shown = ''
    socket.on('data', (bytes) => {
      shown = name()
      reply += bytes.toString()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ name: shown, reply }))
  })
}

test('a server with certificate and key speaks HTTPS and renews both on SIGHUP', { timeout: 90_000 }, async (t) => {
  const dir = await temporaryDirectory(t)
  const first = makeCertificate(dir, 'first')
  const second = makeCertificate(dir, 'second')
  const cert = path.join(dir, 'cert.pem')
  const key = path.join(dir, 'key.pem')
  await copyFile(first.cert, cert)
  await copyFile(first.key, key)
  const settings = { NDD_DATA_DIR: path.join(dir, 'data'), NDD_TLS_CERT: cert, NDD_TLS_KEY: key }

  await chmod(key, 0o644)
  const open = startProcess(settings)
  t.equal((await open.ended).code, 64)
  t.match(open.stderr(), /can be read by other users \(mode 644\)/)

  await chmod(key, 0o600)
  const running = startProcess(settings)
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = new URL(await running.serving)
  t.equal(url.protocol, 'https:')
  const port = Number(url.port)
  t.match(await ask(port), { name: 'first', reply: /^HTTP\/1\.1 200 / })
  await t.rejects(ask(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }), 'TLS 1.1 is refused')

  await writeFile(cert, 'no certificate')
  running.child.kill('SIGHUP')
  await said(running.stderr, /kept the old certificate/)
  t.match(await ask(port), { name: 'first' })
  await copyFile(second.cert, cert)
  await copyFile(second.key, key)
  running.child.kill('SIGHUP')
  await said(running.stderr, /reloaded certificate/)
  t.match(await ask(port), { name: 'second', reply: /^HTTP\/1\.1 200 / })
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 0)
})

async function said(stderr: () => string, line: RegExp): Promise<void> {
  await until(() => line.test(stderr()))
}

for (const threads of ['1', '2'])
  test(`unfinished handshakes end, and none follows the first, with ${threads} serving threads`, {
    timeout: 90_000,
  }, async (t) => {
    const dir = await temporaryDirectory(t)
    const { cert, key } = makeCertificate(dir, 'localhost')
    const settings = { NDD_DATA_DIR: path.join(dir, 'data'), NDD_TLS_CERT: cert, NDD_TLS_KEY: key }
    const running = startProcess({ ...settings, NDD_NUM_SERVER_THREADS: threads })
    t.teardown(async () => {
      running.child.kill('SIGKILL')
      await running.ended
    })
    const port = Number(new URL(await running.serving).port)
    const begins = [Buffer.alloc(0), Buffer.from([0x16, 3, 1, 2, 0, 1])]
    const closed = begins.map((bytes) => {
      const socket = net.connect(port, '127.0.0.1')
      socket.write(bytes)
      socket.resume()
      // A reset is an acceptable end, too.
      socket.on('error', () => undefined)
      return new Promise<void>((resolve) => socket.once('close', () => resolve()))
    })
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' })
    await once(socket, 'secureConnect')
    const refused = once(socket, 'error')
    socket.renegotiate({ rejectUnauthorized: false }, () => undefined)
    t.match((await refused)[0], { code: 'ERR_SSL_NO_RENEGOTIATION' })
    await Promise.all(closed)
    socket.destroy()
    t.pass('clients that do not continue a handshake are disconnected')
  })
