// Damaged backups, uploaded over HTTP: each is refused, or is complete and restores to its source. Nothing breaks, nothing of them remains,
// and existing data does not change.
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { createIndex, runningApp } from './running-app.ts'

const seed = chosenSeed()
/** The long form takes hours on a busy machine; `ANNAL_UPLOADS` runs a part of it, which `ANNAL_SEED` selects. */
const uploads = Number(process.env.ANNAL_UPLOADS ?? (process.env.ANNAL_LONG === '1' ? 100_000 : 150))
const timeout = uploads * 300 + 60_000

tap.setTimeout(timeout)

type Damage = (bytes: Buffer, random: Random) => Buffer

const damages: readonly Damage[] = [
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    for (let i = 0; i <= random.below(4); i++) copy[random.below(copy.length)]! ^= 1 << random.below(8)
    return copy
  },
  // The headers of a container matter most.
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    copy[random.below(Math.min(2_048, copy.length))] = random.below(256)
    return copy
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => {
    const [from, to, target] = [random.below(bytes.length), random.below(bytes.length), random.below(bytes.length)]
    return Buffer.concat([
      bytes.subarray(0, target),
      bytes.subarray(Math.min(from, to), Math.max(from, to)),
      bytes.subarray(target),
    ])
  },
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    const position = random.below(copy.length)
    return copy.fill(random.below(2) * 255, position, Math.min(copy.length, position + random.below(512)))
  },
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    const position = random.below(Math.max(1, copy.length - 8))
    copy.writeBigUInt64LE([2n ** 63n, 2n ** 64n - 1n, 10n ** 15n, 0n][random.below(4)]!, position)
    return copy
  },
  (bytes) => Buffer.concat([bytes, bytes]),
]

test(`${uploads} damaged backups uploaded over HTTP, seed ${seed}`, { timeout }, async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { sparse_dim: 100 })
  const json = Array.from({ length: 30 }, (_, i) => ({
    id: `o${i}`,
    vector: [i, 1, 2, 3],
    meta: { n: i },
    filter: { n: i },
    sparse_indices: [i],
    sparse_values: [1],
  }))
  t.equal((await running.send('POST', '/api/v1/index/docs/vector/insert', { json })).status, 200)
  const database = running.engine.database()
  const digest = database.collection('docs').stateDigest()
  await running.send('POST', '/api/v1/index/docs/backup', { json: { name: 'good' } })
  await database.backups.settled()
  const { bytes } = await running.send('GET', '/api/v1/backups/good/download')
  const random = seededRandom(seed)
  const counts = { refused: 0, whole: 0, 'refused at its restore': 0 }
  for (let i = 0; i < uploads; i++) {
    const damage = damages[i % damages.length]!
    const body = damage(bytes, random)
    const sent = await running.send('POST', '/api/v2/backup/upload?name=bad', { body, type: 'application/x-tar' })
    const where = `upload ${i} of seed ${seed}: ${sent.status} ${sent.text.slice(0, 200)}`
    if (sent.status !== 201) {
      counts.refused += 1
      if (sent.status < 400 || sent.status >= 500) t.fail(where)
      continue
    }
    const restored = await running.send('POST', '/api/v1/backups/bad/restore', { json: { target_index_name: 'again' } })
    if (restored.status === 201) {
      counts.whole += 1
      if (database.collection('again').stateDigest() !== digest) t.fail(`${where}: restored to something else`)
      await database.deleteCollection('again')
    } else {
      counts['refused at its restore'] += 1
      if (restored.status < 400 || restored.status >= 500) t.fail(`${where}: ${restored.text}`)
    }
    t.equal((await running.send('DELETE', '/api/v1/backups/bad')).status, 204)
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.refused > 0)
  t.same(Object.keys((await running.send('GET', '/api/v1/backups')).json()), ['good'])
  t.equal(database.collection('docs').stateDigest(), digest, 'what is there is as before')
  const left = await readdir(path.join(running.dataDir, 'backups'), { recursive: true })
  t.same(
    left.filter((name) => name.includes('.tmp')),
    [],
    'nothing half done is left',
  )
})
