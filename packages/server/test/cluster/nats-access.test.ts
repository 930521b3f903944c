// How a node reaches a NATS server that is protected, and what it says when it cannot: TLS, credentials, and the monitor that tells whether
// the server syncs each message. Nodes of this process over real servers.
import { execFileSync } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { nkeys } from '@nats-io/transport-node'
import tap, { type Test, test } from 'tap'
import type { ClusterConfig } from '../../src/cluster/cluster-config.ts'
import { openClusterNode } from '../../src/cluster/cluster-node.ts'
import type { ClusterView } from '../../src/cluster/cluster-view.ts'
import { readConfig } from '../../src/index.ts'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { temporaryDirectory } from '../running-app.ts'
import { skipNats, startNatsServer } from './nats-servers.ts'

tap.setTimeout(300_000)

const jetstream = (sync: string) => (directory: string) =>
  `jetstream { store_dir: "${directory}", ${sync} max_memory_store: 64MB, max_file_store: 1GB }`
const synced = jetstream('sync_interval: always,')

interface Settings {
  readonly [name: string]: string
}

/** Opens a node. Resolves with its view, or with the first notice, or with the error; the node ends with the test. */
async function open(t: Test, settings: Settings) {
  const { cluster } = readConfig({ NDD_CLUSTER_REPLICAS: '1', NDD_NODE_NAME: 'node', ...settings }).config
  const dataDir = await temporaryDirectory(t)
  const noticed = Promise.withResolvers<string>()
  let view: ClusterView | undefined
  const opening = openClusterNode(
    cluster as ClusterConfig,
    { dataDir, threads: 1 },
    { onView: (given) => (view = given), onNotice: noticed.resolve },
  )
  const close = async () => {
    await view?.close()
    await opening.then(
      ({ engine }) => engine.close(),
      () => undefined,
    )
  }
  t.teardown(close)
  return { opening, noticed: noticed.promise, close }
}

/** Opens a node that cannot use NATS. Returns what it says, and closes it. */
async function waitsWith(t: Test, settings: Settings): Promise<string> {
  const { opening, noticed, close } = await open(t, settings)
  const said = await Promise.race([noticed, opening.then(() => 'it opened')])
  await close()
  return said
}

function openssl(directory: string, name: string, more: readonly string[]): void {
  const given = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`]
  execFileSync('openssl', [...given, ...files, ...more], { cwd: directory, stdio: 'pipe' })
}

test('a node uses TLS and a password, and waits with a reason if one of them is wrong', {
  skip: skipNats,
}, async (t) => {
  const directory = await temporaryDirectory(t)
  const file = (name: string) => path.join(directory, name)
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=critical,CA:FALSE']
  openssl(directory, 'ca', [])
  openssl(directory, 'other', [])
  openssl(directory, 'nats', [...signed, '-addext', 'subjectAltName=IP:127.0.0.1'])
  openssl(directory, 'named', [...signed, '-addext', 'subjectAltName=DNS:localhost'])
  await writeFile(file('right'), 'annal:right\n')
  await writeFile(file('wrong'), 'annal:wrong\n')
  const secured = (
    certificate: string,
  ) => `tls { cert_file: "${file(certificate)}.pem", key_file: "${file(certificate)}.key" }
authorization { users: [ { user: annal, password: right } ] }
${synced(directory)}`
  const nats = await startNatsServer(t, secured('nats'))
  const settings = {
    NDD_CLUSTER_URL: nats.url.replace('nats:', 'tls:'),
    NDD_CLUSTER_CREDENTIALS: file('right'),
    NDD_CLUSTER_CA: file('ca.pem'),
  }
  const { opening, close } = await open(t, settings)
  const { view } = await opening
  await until(() => view.status().role === 'leader')
  t.equal(view.status().syncInterval, 'unverified', 'no monitor is set')
  await close()

  const says = (more: Settings) => waitsWith(t, { ...settings, ...more })
  t.match(
    await says({ NDD_CLUSTER_CREDENTIALS: file('wrong') }),
    /^waiting for NATS: it rejects the credentials of NDD_CLUSTER_CREDENTIALS/,
  )
  t.match(await says({ NDD_CLUSTER_CREDENTIALS: '' }), 'NDD_CLUSTER_CREDENTIALS is not set')
  t.match(await says({ NDD_CLUSTER_CA: file('other.pem') }), 'signed by no authority in NDD_CLUSTER_CA (')
  t.match(await says({ NDD_CLUSTER_CA: '' }), 'NDD_CLUSTER_CA is not set')

  for (const [more, sentence] of [
    [{ NDD_CLUSTER_CREDENTIALS: file('absent') }, /NDD_CLUSTER_CREDENTIALS names a file that cannot be read/],
    [{ NDD_CLUSTER_CREDENTIALS: file('ca.pem') }, /has neither NATS credentials nor one line USER:PASSWORD/],
    [{ NDD_CLUSTER_CA: file('absent') }, /NDD_CLUSTER_CA names a file that cannot be read/],
    [{ NDD_CLUSTER_CA: file('right') }, /has no certificate in PEM format/],
  ] as const)
    await t.rejects((await open(t, { ...settings, ...more })).opening, { name: 'ConfigError', message: sentence })

  t.comment('a server with the certificate of another host, and one without TLS')
  for (const [changed, sentence] of [
    [secured('named'), 'its certificate is not for the host of NDD_CLUSTER_URL'],
    [secured('nats').replace(/^tls .*/, ''), "server does not support 'tls'"],
  ] as const) {
    await nats.kill()
    await nats.configure(changed)
    nats.start()
    // The server may not listen yet.
    await until(async () => (await says({})).includes(sentence))
    t.pass(sentence)
  }
})

test('a node reads credentials and certificates again when it reconnects', { skip: skipNats }, async (t) => {
  const directory = await temporaryDirectory(t)
  const file = (name: string) => path.join(directory, name)
  for (const authority of ['before', 'after']) {
    openssl(directory, authority, [])
    const signed = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`]
    const constraints = ['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'subjectAltName=IP:127.0.0.1']
    openssl(directory, `nats-${authority}`, [...signed, ...constraints])
  }
  const secured = (time: string) =>
    `tls { cert_file: "${file(`nats-${time}`)}.pem", key_file: "${file(`nats-${time}`)}.key" }
authorization { users: [ { user: annal, password: ${time} } ] }
${synced(directory)}`
  const renew = async (time: string) => {
    await writeFile(file('password'), `annal:${time}\n`)
    await copyFile(file(`${time}.pem`), file('ca.pem'))
  }
  await renew('before')
  const nats = await startNatsServer(t, secured('before'))
  const { opening } = await open(t, {
    NDD_CLUSTER_URL: nats.url.replace('nats:', 'tls:'),
    NDD_CLUSTER_CREDENTIALS: file('password'),
    NDD_CLUSTER_CA: file('ca.pem'),
    NDD_CLUSTER_LEASE_MS: '1000',
  })
  const { view } = await opening
  await until(() => view.status().role === 'leader')
  await nats.kill()
  await nats.configure(secured('after'))
  nats.start()
  await until(() => view.status().role !== 'leader')
  await renew('after')
  await until(() => view.status().role === 'leader')
  t.pass('it leads again, without a restart')
})

test('a node uses a .creds file', { skip: skipNats }, async (t) => {
  const directory = await temporaryDirectory(t)
  const [operator, user] = [nkeys.createOperator(), nkeys.createUser()]
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()]
  const signed = (issuer: typeof operator, subject: typeof operator, nats: object) => {
    const claims = { jti: 'test', iat: 1, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name: 'test', nats }
    const [head, body] = [{ typ: 'JWT', alg: 'ed25519-nkey' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    const text = `${head}.${body}`
    return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`
  }
  const unlimited = { subs: -1, data: -1, payload: -1 }
  const limits = {
    ...{ ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
    ...{ mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 },
  }
  const accountToken = signed(operator, account, { limits, type: 'account', version: 2 })
  const systemToken = signed(operator, system, { type: 'account', version: 2 })
  const nats = await startNatsServer(
    t,
    `operator: ${signed(operator, operator, { type: 'operator', version: 2 })}
resolver: MEMORY
system_account: ${system.getPublicKey()}
resolver_preload: { ${account.getPublicKey()}: ${accountToken}, ${system.getPublicKey()}: ${systemToken} }
${synced(directory)}`,
  )
  const creds = path.join(directory, 'annal.creds')
  const write = (issuer: typeof operator) =>
    writeFile(
      creds,
      `-----BEGIN NATS USER JWT-----
${signed(issuer, user, { pub: {}, sub: {}, ...unlimited, type: 'user', version: 2 })}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${Buffer.from(user.getSeed()).toString()}
------END USER NKEY SEED------
`,
    )
  const settings = { NDD_CLUSTER_URL: nats.url, NDD_CLUSTER_CREDENTIALS: creds }
  await write(account)
  const { opening } = await open(t, settings)
  const { view } = await opening
  await until(() => view.status().role === 'leader')
  await write(nkeys.createAccount())
  t.match(await waitsWith(t, settings), 'it rejects the credentials of NDD_CLUSTER_CREDENTIALS')
})

test('an older NATS server is refused by its version', async (t) => {
  let version = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const info = { server_id: 'old', server_name: 'n0', version, headers: true, jetstream: true, max_payload: 1 << 20 }
    socket.write(`INFO ${JSON.stringify({ ...info, proto: 1, host: '127.0.0.1', port: 4222 })}\r\n`)
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n')
    })
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const settings = { NDD_CLUSTER_URL: `nats://127.0.0.1:${port}` }
  for (const old of ['2.14.9', '1.99.0']) {
    version = old
    const expected = `the NATS server n0 has version ${old}; a cluster needs 2.15 or later`
    await t.rejects((await open(t, settings)).opening, { code: 'nats_weak', message: expected })
  }
  for (const newer of ['2.15.0', '2.16.0-RC.1', '3.0.1']) {
    version = newer
    t.match(await waitsWith(t, settings), /^waiting for NATS: /, `${newer} is accepted, and has no JetStream`)
  }
})

test('a monitor says whether NATS syncs each message', { skip: skipNats }, async (t) => {
  const directory = await temporaryDirectory(t)
  const port = await freePort()
  const monitored = (sync: string) => `http: "127.0.0.1:${port}"\n${jetstream(sync)(directory)}`
  const nats = await startNatsServer(t, monitored(''))
  const monitor = `http://127.0.0.1:${port}`
  const answers = () => until(async () => (await fetch(`${monitor}/varz`).catch(() => undefined))?.ok === true)
  const restart = async (sync: string) => {
    await nats.kill()
    await nats.configure(monitored(sync))
    nats.start()
    await answers()
  }
  await answers()
  const settings = { NDD_CLUSTER_URL: nats.url, NDD_CLUSTER_MONITOR_URL: monitor }
  const refused = (await open(t, settings)).opening
  await t.rejects(refused, {
    code: 'nats_weak',
    message: /server n0 \(.*does not sync each message: set `sync_interval: always`/,
  })

  await restart('sync_interval: always,')
  const { opening } = await open(t, settings)
  const { view, faults } = await opening
  // Nobody takes the lead here.
  const ofNats = () => faults().filter((fault) => !fault.startsWith('no node leads'))
  t.equal(view.status().syncInterval, 'always')
  t.strictSame(ofNats(), [])

  for (const url of [`http://127.0.0.1:${await freePort()}`, nats.url.replace('nats:', 'http:')]) {
    const silent = await open(t, { ...settings, NDD_CLUSTER_MONITOR_URL: `${monitor},${url}` })
    t.match(await silent.noticed, `the monitor ${url} (NDD_CLUSTER_MONITOR_URL) does not say`)
    t.equal((await silent.opening).view.status().syncInterval, 'unverified')
    await silent.close()
  }

  await restart('')
  await until(() => view.status().syncInterval === 'weak')
  t.match(ofNats(), [/does not sync each message/])
  await restart('sync_interval: always,')
  await until(() => view.status().syncInterval === 'always')
  t.strictSame(ofNats(), [])
})
