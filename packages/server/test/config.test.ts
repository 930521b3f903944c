// Settings are checked before anything opens, and the documentation lists exactly these settings.
import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { ConfigError, readConfig, settings, settingsWithoutEffect } from '../src/index.ts'

test('an empty environment gives the documented defaults without a warning', (t) => {
  const { config, warnings } = readConfig({})
  t.match(config, { host: '127.0.0.1', port: 8_080, dataDir: './data', fsync: 'always', topKMax: 512, batchMax: 1_000 })
  t.match(config.archive, { maxAgeMs: 86_400_000, maxBytes: 50_000_000_000, freeShareMax: 0.1 }, 'history of a day')
  t.equal(config.authToken, undefined)
  t.strictSame(warnings, [])
  t.end()
})

test('every setting is read, and spaces around values are ignored', (t) => {
  const { inForce, ...config } = readConfig({
    NDD_SERVER_PORT: ' 0 ',
    NDD_HOST: '::1',
    NDD_ALLOWED_HOSTS: 'DB.internal, db',
    NDD_CORS_ORIGINS: 'https://App.example.com:443/, http://localhost:3000,chrome-extension://abc',
    NDD_TRUSTED_PROXIES: '10.0.0.5, 10.1.0.0/16,fd00::/8',
    NDD_DATA_DIR: '/somewhere',
    NDD_AUTH_TOKEN: 'x'.repeat(20),
    NDD_ROOT_TOKEN: 'r'.repeat(16),
    NDD_LICENSE_PUBLIC_KEY: 'A'.repeat(43),
    NDD_FSYNC: 'Interval',
    NDD_NUM_THREADS: '3',
    NDD_NUM_SERVER_THREADS: '5',
    NDD_TOP_K_MAX: '4096',
    NDD_BATCH_MAX: '10000',
    NDD_COLLECTIONS_MAX: '5',
    NDD_REQUEST_KEYS_MAX: '6',
    NDD_REQUEST_KEYS_HOURS: '7',
    NDD_ASOF_LOADED_MB: '10',
    NDD_ASOF_SECONDS: '30',
    NDD_ASOF_MEMORY_MB: '20',
    NDD_MEMORY_MAX_MB: '300',
    NDD_LOG_LEVEL: 'silent',
    NDD_RATE_LIMIT: '20',
    NDD_QUERY_LOG_PERCENT: '5',
    NDD_BACKUP_EVERY_HOURS: '6',
    NDD_BACKUP_MINUTES_MAX: '90',
    NDD_BACKUP_KEEP: '3',
    NDD_BACKUP_CHECK: 'OFF',
    NDD_BACKUP_S3: 's3://backups/shop',
    NDD_BACKUP_S3_KEEP: '9',
    NDD_ARCHIVE_HOURS: '48',
    NDD_ARCHIVE_MAX_GB: '2',
    NDD_ARCHIVE_S3: 's3://archive/shop',
    NDD_FOLLOW_S3: 's3://archive/shop',
    NDD_ARCHIVE_S3_KEEP: '4',
    NDD_ARCHIVE_LAG_MAX_S: '30',
    NDD_ARCHIVE_REQUIRED: 'on',
    NDD_ARCHIVE_BACKLOG_MAX_GB: '3',
    NDD_ACK: 'archive',
    NDD_KEEP_LOG: 'on',
    NDD_TLS_CERT: 'c.pem',
    NDD_TLS_KEY: 'k.pem',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
  }).config
  t.equal(inForce.length, settings.length)
  t.strictSame(config, {
    host: '::1',
    port: 0,
    allowedHosts: ['db.internal', 'db'],
    trustedProxies: ['10.0.0.5', '10.1.0.0/16', 'fd00::/8'],
    corsOrigins: ['https://app.example.com', 'http://localhost:3000', 'chrome-extension://abc'],
    dataDir: '/somewhere',
    authToken: 'x'.repeat(20),
    rootToken: 'r'.repeat(16),
    licensePublicKey: 'A'.repeat(43),
    fsync: 'interval',
    threads: 3,
    serverThreads: 5,
    topKMax: 4_096,
    backupMsMax: 5_400_000,
    batchMax: 10_000,
    collectionsMax: 5,
    requestKeysMax: 6,
    requestKeyHours: 7,
    asOfLoadedMegabytes: 10,
    asOfSeconds: 30,
    asOfMemoryMegabytes: 20,
    memoryMegabytesMax: 300,
    logLevel: 'silent',
    rateLimit: 20,
    queryLogPercent: 5,
    backupEveryHours: 6,
    backupKeep: 3,
    backupCheck: false,
    backupBucket: { bucket: 'backups', prefix: 'shop/' },
    backupBucketKeep: 9,
    archive: { maxBytes: 2_000_000_000, maxAgeMs: 172_800_000, freeShareMax: 0.1 },
    archiveBucket: { bucket: 'archive', prefix: 'shop/' },
    followBucket: { bucket: 'archive', prefix: 'shop/' },
    archiveBasesMax: 4,
    archiveLagSeconds: 30,
    archiveRequired: true,
    archiveBacklogGigabytes: 3,
    acknowledge: 'archive',
    keepLog: true,
    cluster: undefined,
    tlsCert: 'c.pem',
    tlsKey: 'k.pem',
    providers: [],
    tracesUrl: 'http://collector:4318/v1/traces',
    metricsUrl: 'http://collector:4318/v1/metrics',
    logsUrl: 'http://collector:4318/v1/logs',
    metricsEveryMs: 60_000,
  })
  t.end()
})

test('all errors are reported at once, in the order of the table, each with its setting and value', (t) => {
  const read = () =>
    readConfig({ NDD_SERVER_PORT: '80a', NDD_FSYNC: 'sometimes', NDD_TOP_K_MAX: '4097', NDD_AUTH_TOKEN: 'two words' })
  t.throws(read, ConfigError)
  try {
    read()
  } catch (error) {
    t.match(error, {
      problems: [/NDD_SERVER_PORT.*80a/, /NDD_AUTH_TOKEN/, /NDD_FSYNC.*sometimes/, /NDD_TOP_K_MAX.*4096.*4097/],
    })
  }
  t.throws(() => readConfig({ NDD_ROOT_TOKEN: 'two words' }), /NDD_ROOT_TOKEN/)
  t.throws(() => readConfig({ NDD_ACK: 'archive' }), /NDD_ACK=archive needs NDD_ARCHIVE_S3/)
  const follow = { NDD_FOLLOW_S3: 's3://archive/shop', NDD_ARCHIVE_S3: 's3://archive/other' }
  t.throws(() => readConfig(follow), /NDD_ARCHIVE_S3 must be empty or the same as NDD_FOLLOW_S3/)
  t.throws(() => readConfig({ NDD_ARCHIVE_REQUIRED: 'on' }), /NDD_ARCHIVE_REQUIRED=on needs NDD_ARCHIVE_S3/)
  for (const host of ['http://db', 'db:8080', '*', '*.db', 'db/', '[::1]', '.db', 'a b'])
    t.throws(() => readConfig({ NDD_ALLOWED_HOSTS: `db,${host}` }), /NDD_ALLOWED_HOSTS/, host)
  for (const origin of [
    '*',
    'null',
    'app.example.com',
    'https://*.example.com',
    'https://a/b',
    'https://u@a',
    'https://',
  ])
    t.throws(() => readConfig({ NDD_CORS_ORIGINS: origin }), /NDD_CORS_ORIGINS/, origin)
  for (const proxy of [
    'proxy',
    '10.0.0.256',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/129',
    '10.0.0.1:80',
    'fe80::1%eth0',
    '*',
  ])
    t.throws(() => readConfig({ NDD_TRUSTED_PROXIES: proxy }), /NDD_TRUSTED_PROXIES/, proxy)
  for (const key of ['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}B`, `${'A'.repeat(42)}=`])
    t.throws(() => readConfig({ NDD_LICENSE_PUBLIC_KEY: key }), /NDD_LICENSE_PUBLIC_KEY/, key)
  t.end()
})

test('unknown names cause warnings, names of the published server cause one notice', (t) => {
  const { warnings } = readConfig({
    NDD_SERVER_PROT: '1',
    ndd_host: '::',
    NDD_MAX_ELEMENTS: '5',
    NDD_DEBUG_LOG: '1',
    HOME: '/',
  })
  t.match(warnings, [/NDD_SERVER_PROT/, /ndd_host is not a setting/, /NDD_MAX_ELEMENTS, NDD_DEBUG_LOG/])
  t.equal(warnings.length, 3)
  t.end()
})

test('a server without a token and a short token cause warnings', (t) => {
  t.match(readConfig({ NDD_HOST: '0.0.0.0' }).warnings, [/without NDD_AUTH_TOKEN/])
  t.match(readConfig({ NDD_AUTH_TOKEN: 'short' }).warnings, [/shorter than 16/])
  t.match(readConfig({ NDD_AUTH_TOKEN: 'a:b:region-of-the-client' }).warnings, [/colon/])
  t.end()
})

test('a root token that can be guessed makes the server listen on loopback only, with a warning', (t) => {
  for (const weak of ['unsafe_root_token', 'fifteen-letters']) {
    const { config, warnings } = readConfig({ NDD_ROOT_TOKEN: weak, NDD_HOST: '0.0.0.0' })
    t.equal(config.host, '127.0.0.1', weak)
    t.match(warnings, [/NDD_ROOT_TOKEN is/, /127\.0\.0\.1 instead of 0\.0\.0\.0/])
    t.notMatch(warnings.join(), weak)
  }
  t.match(readConfig({ NDD_ROOT_TOKEN: 'unsafe_root_token' }).warnings, [/published default/])
  const strong = readConfig({ NDD_ROOT_TOKEN: 'r'.repeat(16), NDD_HOST: '0.0.0.0' })
  t.equal(strong.config.host, '0.0.0.0')
  t.strictSame(strong.warnings, [])
  t.match(readConfig({ NDD_ROOT_TOKEN: 'r'.repeat(16), NDD_AUTH_TOKEN: 'a'.repeat(16) }).warnings, [/has no effect/])
  t.end()
})

test('docs/reference/configuration.md lists every setting with its default', async (t) => {
  const page = await readFile(new URL('../../../docs/reference/configuration.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(NDD_[A-Z0-9_]+)` \| (?:`([^`]*)`|empty) \|/gm)]
  const documented = rows.map(([, name, fallback]) => [name, fallback ?? ''])
  t.strictSame(
    documented,
    settings.map(({ name, fallback }) => [name, fallback]),
  )
  for (const name of settingsWithoutEffect) t.ok(page.includes(name), name)
})

test('values are shown only where the table says so, and secrets and paths never', (t) => {
  const given = {
    NDD_AUTH_TOKEN: 'secret',
    NDD_ROOT_TOKEN: 'a-secret-of-sixteen',
    NDD_DATA_DIR: '/srv/private',
    NDD_RATE_LIMIT: '5',
  }
  const { config } = readConfig(given)
  const shown = new Map(config.inForce.map(({ name, value }) => [name, value]))
  t.strictSame(
    Object.keys(given).map((name) => shown.get(name)),
    ['set', 'set', 'set', '5'],
  )
  const hidden = settings.filter(({ isShown }) => !isShown).map(({ name }) => name)
  t.strictSame(hidden, [
    'NDD_DATA_DIR',
    'NDD_AUTH_TOKEN',
    'NDD_ROOT_TOKEN',
    'NDD_LICENSE_PUBLIC_KEY',
    'NDD_BACKUP_S3',
    'NDD_ARCHIVE_S3',
    'NDD_FOLLOW_S3',
    'NDD_TLS_CERT',
    'NDD_TLS_KEY',
    'NDD_CLUSTER_CREDENTIALS',
    'NDD_CLUSTER_CA',
    'NDD_CLUSTER_S3',
    'NDD_PROVIDERS',
  ])
  t.end()
})
