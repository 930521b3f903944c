// Both clients store the same images and run the same queries; the results are identical to the last bit.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect, denseField } from '@annal/client'
import tap, { test } from 'tap'
import { realServer } from '../../client/test/real-server.ts'
import { pythonEnvironment, pythonHome, pythonWith } from './python.ts'

tap.setTimeout(300_000)

const folder = fileURLToPath(new URL('../../../../shared/data/fashion-mnist', import.meta.url))
const python = pythonWith('requests', 'msgpack')
const [dimension, rows, queries] = [784, 3_000, 100]

function missing(): string | false {
  if (python === undefined) return 'needs python3-requests python3-msgpack'
  return existsSync(folder) ? false : `needs ${folder}`
}

async function vectors(name: string, count: number): Promise<readonly Float32Array[]> {
  await using file = await open(path.join(folder, name))
  const bytes = Buffer.alloc(count * dimension)
  await file.read(bytes, 0, bytes.length, 0)
  return Array.from({ length: count }, (_, i) => Float32Array.from(bytes.subarray(i * dimension, (i + 1) * dimension)))
}

test('the Python client finds what the TypeScript client finds', { skip: missing() }, async (t) => {
  const address = await realServer(t)
  await using client = connect({ url: address })
  const base = await vectors('base.u8', rows)
  const queryRows = await vectors('queries.u8', queries)
  const images = await client.createCollection({
    name: 'typescript',
    fields: [denseField('image', { dimension, spaceType: 'l2', precision: 'int8' })],
  })
  const records = base.map((image, i) => ({ id: String(i), fields: { image } }))
  await images.load(records, { batchSize: 500, concurrency: 1 })
  const found: (readonly (readonly [string, number])[])[] = []
  let right = 0
  for (const query of queryRows) {
    const field = { image: { query, limit: 10 } }
    const hits = (await images.search({ fields: field })).results.image ?? []
    const exact = (await images.search({ fields: field, exact: true })).results.image ?? []
    right += hits.filter(({ id }) => exact.some((one) => one.id === id)).length
    found.push(hits.map(({ id, similarity }) => [id, similarity]))
  }
  t.ok(right / (queries * 10) >= 0.95, `recall@10 is ${right / (queries * 10)}`)
  const args = [
    path.join(pythonHome, 'tests', 'search_images.py'),
    address,
    folder,
    ...[dimension, rows, queries].map(String),
  ]
  const { stdout } = await promisify(execFile)(python ?? '', args, { env: pythonEnvironment, maxBuffer: 1 << 24 })
  t.same(JSON.parse(stdout), found)
})
