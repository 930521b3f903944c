// Makes a data directory with a backup, a clone, and history for `upgrade.test.ts`, and packs it into a golden file. Runs in a checkout of
// any commit from f1e015e on, with the engine of that commit, so it uses only calls that all of them have, by the names that each has:
//   cd CHECKOUT/packages/engine && node --conditions=annal-source test/upgrade/make-directory.ts OUT.json.br FEATURE...
// Features: int4, recall, keys, alias, expiry, text.
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { openEngine } from '@annal/engine'

const [out = '', ...features] = process.argv.slice(2)
const has = (feature: string): boolean => features.includes(feature)
const dimension = 8
// The engine of another commit has other types.
// biome-ignore lint/suspicious/noExplicitAny: see above.
type AnyEngine = any

function object(n: number, generation = 0) {
  const v = Array.from({ length: dimension }, (_, at) => Math.sin((n + 1) * (at + 2) + generation))
  const s = { indices: [n % 7, 10 + (n % 5)], values: [1, 0.5] }
  return {
    id: `${n}`,
    meta: { n, generation },
    filter: { third: n % 3, even: n % 2 === 0 },
    fields: {
      v,
      b: v,
      s,
      m: [
        [n, 1, 0, 1],
        [1, generation, n, 2],
      ].slice(0, 1 + (n % 2)),
      ...textsOf(n),
    },
    ...(has('expiry') && n % 4 === 0 && { expiresAt: '2999-01-01T00:00:00Z' }),
  }
}

function textsOf(n: number) {
  return has('text') ? { t: `Text ${n} of ${n % 4} kinds of films` } : {}
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

function dense(precision: string, spaceType: string) {
  return { dimension, space_type: spaceType, precision, M: 4, ef_con: 16, ...(has('recall') && { recall: 0.9 }) }
}

async function fill(engine: AnyEngine) {
  const database = engine.database()
  const fields = [
    { name: 'v', type: 'vector', params: dense(has('int4') ? 'int4' : 'int8', 'cosine') },
    { name: 'b', type: 'vector', params: dense('binary', 'l2') },
    { name: 's', type: 'sparse', params: { model: 'default' } },
    { name: 'm', type: 'multi_vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } },
    ...(has('text') ? [{ name: 't', type: 'text', params: { language: 'english' } }] : []),
  ]
  const ttl = has('expiry') ? { ttlSeconds: 3_155_760_000 } : {}
  const films = await database.createCollection({ name: 'films', fields, ...ttl })
  const write = (objects: object[], key: string) => films.upsert(objects, ...(has('keys') ? [{ requestKey: key }] : []))
  await write(
    range(0, 70).map((n) => object(n)),
    'first',
  )
  await engine.checkpoint()
  await write(
    range(60, 75).map((n) => object(n, 1)),
    'second',
  )
  await films.delete(['1', '2', '61'])
  await (films.updateFilters ?? films.replaceFilters).call(films, [{ id: '7', filter: { third: 9 } }])
  if (has('alias')) await database.putAlias('live', 'films')
  await engine.checkpoint()
  await write(
    range(74, 80).map((n) => object(n, 2)),
    'third',
  )
  const [backupDigest, backupLsn] = [films.stateDigest(), engine.stats().lsnApplied]
  await database.backups.create('films', 'before')
  await database.backups.settled()
  await database.backups.clone('films', 'copy')
  await database.collection('copy').served()
  await films.deleteWhere([{ third: { $eq: 1 } }])
  await engine.control.createDatabase({
    name: 'music',
    token: { name: 'first', kind: 'rw', hash: createHash('sha256').update('token').digest('hex') },
  })
  await engine.control.putSetting('theme', 'dark')
  await films.rebuild()
  await engine.checkpoint()
  await write(
    range(80, 84).map((n) => object(n, 3)),
    'fourth',
  )
  await engine.checkpoint()
  await database.collection('copy').upsert([object(90)])
  return { backupDigest, backupLsn }
}

async function seenIn(engine: AnyEngine) {
  const query = object(9).fields
  const found: Record<string, unknown> = {}
  for (const name of ['films', 'copy']) {
    const { results } = await engine
      .database()
      .collection(name)
      .search({
        fields: { v: { query: query.v, limit: 5 }, s: { query: query.s, limit: 5 }, m: { query: query.m, limit: 5 } },
        filter: [{ even: { $eq: true } }],
      })
    const hits = Object.entries(results as Record<string, { id: string }[]>)
    found[name] = Object.fromEntries(hits.map(([field, some]) => [field, some.map(({ id }) => id)]))
  }
  return found
}

const dir = await mkdtemp(join(tmpdir(), 'annal-upgrade-'))
// Commits before changes of fields were written have no such limits.
const eager = await import('../snapshot/eager-deltas.ts').catch(() => undefined)
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
const parts = eager === undefined ? {} : { deltas: eager.eagerDeltas }
const open = (): Promise<AnyEngine> => openEngine({ dataDir: join(dir, 'live'), threads: 1, archive }, parts)
let engine = await open()
const backup = await fill(engine)
// A start begins a segment, so the log gives the first one up, and history has it.
await engine.close()
engine = await open()
await engine
  .database()
  .collection('films')
  .upsert([object(91)])
await engine.checkpoint()
await engine
  .database()
  .collection('films')
  .upsert([object(92)])
await engine.checkpoint()
await engine
  .database()
  .collection('films')
  .upsert([object(93)])
const digests = Object.fromEntries(
  ['films', 'copy'].map((name) => [name, engine.database().collection(name).stateDigest()]),
)
const facts = {
  lsn: engine.stats().lsnApplied,
  digests,
  catalog: engine.control.digest(),
  hits: await seenIn(engine),
  ...backup,
}
// What a kill would leave.
await cp(join(dir, 'live'), join(dir, 'killed'), { recursive: true })
await engine.close()
const files: Record<string, string> = {}
for (const name of (await readdir(join(dir, 'killed'), { recursive: true })).sort()) {
  const path = join(dir, 'killed', name)
  if (name !== 'LOCK' && name !== 'RESERVE' && (await stat(path)).isFile())
    files[name] = (await readFile(path)).toString('hex')
}
await writeFile(out, brotliCompressSync(JSON.stringify({ features, ...facts, files })))
await rm(dir, { recursive: true })
process.stdout.write(`${out}: ${Object.keys(files).length} files\n`)
