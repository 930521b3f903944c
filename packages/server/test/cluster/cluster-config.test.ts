// The settings of a cluster: a node refuses by name what it cannot serve with, and a NATS that others could read.
import { hostname } from 'node:os'
import { test } from 'tap'
import { readConfig } from '../../src/config.ts'
import type { Environment } from '../../src/settings.ts'

const local = { NDD_CLUSTER_URL: 'nats://127.0.0.1:4222' }

function problemOf(environment: Environment): string {
  try {
    readConfig(environment)
    return ''
  } catch (error) {
    return String(error)
  }
}

test('a cluster has defaults, and keeps no history', (t) => {
  const { config, warnings } = readConfig({ ...local, NDD_CLUSTER_URL: 'nats://LOCALHOST, nats://127.0.0.1:4223/' })
  t.strictSame(warnings, [])
  t.strictSame(config.cluster, {
    urls: ['nats://localhost:4222', 'nats://127.0.0.1:4223'],
    name: 'annal',
    node: hostname(),
    url: '',
    credentials: undefined,
    ca: undefined,
    monitorUrls: [],
    replicas: 3,
    leaseMs: 3000,
    writeMs: 10_000,
    stalenessMs: 10_000,
    filesBucket: undefined,
    filesBytesMax: 4_096_000_000,
    snapshotLogBytes: 64_000_000,
    retentionMs: 86_400_000,
  })
  t.equal(config.archive.maxAgeMs, 0)
  t.equal(readConfig({ NDD_NODE_NAME: 'a' }).config.cluster, undefined)
  t.end()
})

test('NATS beyond this machine needs TLS and credentials', (t) => {
  const remote = 'nats://127.0.0.1:4222,nats://10.0.0.5:4222'
  const credentials = { NDD_CLUSTER_CREDENTIALS: 'node.creds' }
  t.match(problemOf({ NDD_CLUSTER_URL: remote }), /10\.0\.0\.5:4222.*without TLS .* and credentials/)
  t.match(problemOf({ NDD_CLUSTER_URL: remote, ...credentials }), /without TLS/)
  t.match(problemOf({ NDD_CLUSTER_URL: 'tls://nats-1:4222' }), /nats-1:4222.*without credentials/)
  t.equal(problemOf({ NDD_CLUSTER_URL: 'tls://nats-1:4222', ...credentials }), '')
  t.equal(problemOf({ NDD_CLUSTER_URL: remote, ...credentials, NDD_CLUSTER_CA: 'ca.pem' }), '')
  t.equal(problemOf({ NDD_CLUSTER_URL: 'nats://[::1]:4222' }), '')
  t.end()
})

test('settings that a node does not support are refused by name', (t) => {
  for (const [name, value] of Object.entries({
    NDD_ARCHIVE_HOURS: '24',
    NDD_ARCHIVE_S3: 's3://archive',
    NDD_KEEP_LOG: 'on',
  })) {
    t.match(problemOf({ ...local, [name]: value }), `does not support ${name} in this version`)
    t.equal(problemOf({ [name]: value }), '', `${name} alone`)
  }
  t.equal(problemOf({ ...local, NDD_ARCHIVE_HOURS: '0' }), '')
  t.equal(problemOf({ ...local, NDD_BACKUP_EVERY_HOURS: '6', NDD_BACKUP_S3: 's3://backups' }), '')
  t.equal(problemOf({ ...local, NDD_ROOT_TOKEN: 'r'.repeat(20) }), '')
  t.match(problemOf({ ...local, NDD_HOST: '0.0.0.0' }), /NDD_NODE_URL must be set/)
  t.equal(problemOf({ ...local, NDD_HOST: '0.0.0.0', NDD_NODE_URL: 'https://annal-1' }), '')
  const wrong = {
    NDD_CLUSTER_URL: ['127.0.0.1:4222', 'http://127.0.0.1', 'nats://user:secret@127.0.0.1', 'nats://127.0.0.1/path'],
    NDD_CLUSTER_NAME: ['a.b', 'two words', 'a'.repeat(33)],
    NDD_NODE_NAME: ['.a', 'a..b', 'a*', 'a b'],
    NDD_NODE_URL: ['annal-1:8080', 'https://annal-1/path', 'ftp://a'],
    NDD_CLUSTER_MONITOR_URL: ['nats-1:8222'],
    NDD_CLUSTER_REPLICAS: ['0', '6'],
    NDD_CLUSTER_LEASE_MS: ['10'],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) t.match(problemOf({ ...local, [name]: value }), name, value)
  t.end()
})
