// The file of providers is checked at the start, and no message has a key.
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { inspect } from 'node:util'
import { type Test, test } from 'tap'
import { ConfigError, readConfig } from '../../src/index.ts'
import { temporaryDirectory } from '../running-app.ts'
import { startProcess } from '../running-process.ts'

const key = 'sk-planted-0123456789'
const whole = {
  kind: 'openai',
  url: 'https://api.example.com/v1/embeddings',
  key_env: 'A_KEY',
  model: 'm',
  dimension: 8,
}

async function fileWith(t: Test, content: unknown): Promise<string> {
  const file = path.join(await temporaryDirectory(t), 'providers.json')
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

async function problemsOf(t: Test, content: unknown): Promise<string> {
  const environment = { NDD_PROVIDERS: await fileWith(t, content), A_KEY: key, BLANK: ' ', CONTROL: 'a\nb' }
  try {
    readConfig(environment)
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n')
    throw error
  }
}

test('a file of providers is read, with defaults, and no dump of it has the key', async (t) => {
  const local = {
    kind: 'openai',
    url: 'http://127.0.0.1:11434/v1/embeddings',
    model: 'n',
    dimension: 16,
    concurrency: 1,
  }
  const remote = { ...whole, kind: 'cohere', url: 'http://10.0.0.7/embed' }
  const NDD_PROVIDERS = await fileWith(t, { hosted: whole, local, remote })
  const { config, warnings } = readConfig({ NDD_PROVIDERS, A_KEY: key })
  t.match(config.providers, [
    { name: 'hosted', kind: 'openai', url: whole.url, model: 'm', dimension: 8, batchSize: 64, requestsPerMinute: 0 },
    { name: 'local', key: undefined, concurrency: 1, timeoutMs: 10_000, deadlineMs: 25_000, cacheBytes: 67_108_864 },
    { name: 'remote', kind: 'cohere', sendsDimension: false },
  ])
  t.equal(config.providers[0]?.key?.(), key)
  t.notOk((JSON.stringify(config) + inspect(config, { depth: 9 })).includes(key))
  t.match(config.inForce, [{ name: 'NDD_SERVER_PORT' }])
  t.equal(config.inForce.find(({ name }) => name === 'NDD_PROVIDERS')?.value, 'set')
  t.match(warnings, [/provider remote gets its key without TLS/])
  t.strictSame(readConfig({}).config.providers, [])
})

test('each wrong value is named with its field, the provider, and what is allowed', async (t) => {
  const wrong: [object, RegExp][] = [
    [{ kind: 'other' }, /kind of "p" must be one of openai, cohere, voyage, not "other"/],
    [{ kind: undefined }, /kind of "p" must be one of .* not missing/],
    [{ url: 'ftp://x/' }, /url of "p" must be an address that begins with https:\/\/ or http:\/\/.* not "ftp/],
    [{ url: 'https://user:secret@x/' }, /url of "p" .* not "https:\/\/\*\*\*@x/],
    [{ url: 'x' }, /url of "p"/],
    [{ model: '' }, /model of "p"/],
    [{ dimension: 1 }, /dimension of "p" must be a whole number from 2 to 10000, not 1/],
    [{ dimension: undefined }, /dimension of "p" .* not missing/],
    [{ dimension: '8' }, /dimension of "p"/],
    [{ batch_size: 0 }, /batch_size of "p" must be a whole number from 1 to 2048, not 0/],
    [{ requests_per_minute: -1 }, /requests_per_minute of "p"/],
    [{ timeout_ms: 99 }, /timeout_ms of "p"/],
    [
      { timeout_ms: 20_000, deadline_ms: 10_000 },
      /deadline_ms of "p" must be at least timeout_ms, which is 20000, not 10000/,
    ],
    [{ concurrency: 65 }, /concurrency of "p" must be a whole number from 1 to 64, not 65/],
    [{ cache_mb: 1.5 }, /cache_mb of "p"/],
    [{ send_dimension: 1 }, /send_dimension of "p"/],
    [{ key_env: 'NDD_AUTH_TOKEN' }, /key_env of "p" must be a variable that is not a setting/],
    [{ key_env: 'ABSENT' }, /key_env of "p" must be a variable that is set/],
    [{ key_env: 'BLANK' }, /key_env of "p" must be a variable that is set/],
    [{ key_env: 'CONTROL' }, /key_env of "p" must be a variable that is set/],
    [{ key_env: key }, /key_env of "p" must be the name of an environment variable/],
    [{ key }, /"key" of "p" is not known.*key_env/],
    [{ headers: {} }, /"headers" of "p" is not known/],
  ]
  for (const [changes, message] of wrong) {
    const problems = await problemsOf(t, { p: { ...whole, ...changes } })
    t.match(problems, message)
    t.match(problems, /^NDD_PROVIDERS: /)
    t.notOk(problems.includes(key) || problems.includes('secret'))
  }
  t.match(await problemsOf(t, { 'a b': whole }), /"a b" must be a name/)
  t.match(await problemsOf(t, { p: 1 }), /"p" must be an object/)
  t.match(await problemsOf(t, []), /an object of providers/)
  const broken = await problemsOf(t, `{"p": {"key": "${key}"`)
  t.match(broken, /it is not JSON/)
  t.notOk(broken.includes(key))
  t.match(await problemsOf(t, ' '.repeat(1_048_577)), /at most 1048576/)
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`p${i}`, whole]))
  t.match(await problemsOf(t, many), /65 providers are named, at most 64/)
  t.equal((await problemsOf(t, { p: { ...whole, url: 1, model: 2 } })).split('\n').length, 2, 'all problems at once')
})

test('a server with a wrong file of providers ends with the code of a bad configuration', async (t) => {
  const NDD_PROVIDERS = await fileWith(t, { p: { ...whole, dimension: 0 } })
  const absent = startProcess({ NDD_DATA_DIR: await temporaryDirectory(t), NDD_PROVIDERS: '/absent.json' })
  const wrong = startProcess({ NDD_DATA_DIR: await temporaryDirectory(t), NDD_PROVIDERS, A_KEY: key })
  t.equal((await absent.ended).code, 64)
  t.match(absent.stderr(), /NDD_PROVIDERS: the file cannot be read: ENOENT/)
  t.equal((await wrong.ended).code, 64)
  t.match(wrong.stderr(), /^annal: NDD_PROVIDERS: dimension of "p" must be a whole number from 2 to 10000, not 0\n$/)
})
