// Measures how long writes of one object take with NDD_ACK=local and NDD_ACK=archive, with one client and with 64, when every request to
// the bucket takes 0, 20, or 100 ms: node --conditions=annal-source packages/server/test/archive/ack-latency.ts [SECONDS]
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { seededRandom } from '@annal/wal/testing'
import { ObjectServer, soundObjects } from '../cluster/object-server.ts'
import { send } from '../running-app.ts'
import { startProcess } from '../running-process.ts'

const seconds = Number(process.argv[2] ?? 4)
const bucket = new ObjectServer(seededRandom(1))
const { environment, close } = await bucket.open()
Object.assign(process.env, environment)
const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-ack-'))
const print = (...cells: readonly (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)

print('NDD_ACK', 'request to the bucket, ms', 'clients', 'writes/s', 'p50, ms', 'p99, ms', 'writes in a PUT')
print('---', '---', '---', '---', '---', '---', '---')
for (const [ack, roundTripMs] of [
  ['local', 0],
  ['archive', 0],
  ['archive', 20],
  ['archive', 100],
] as const) {
  bucket.faults = { ...soundObjects, roundTripMs }
  const name = `${ack}-${roundTripMs}`
  const running = startProcess({
    NDD_DATA_DIR: path.join(dir, name),
    NDD_ARCHIVE_S3: `s3://annal/${name}`,
    NDD_ACK: ack,
  })
  const url = await running.serving
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 16, space_type: 'l2' } }]
  await send(url, 'POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  for (const clients of [1, 64]) {
    const puts = bucket.requests('PUT')
    const times = await write(url, clients)
    const sorted = times.sort((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
    const perPut = (times.length / Math.max(1, bucket.requests('PUT') - puts)).toFixed(1)
    print(ack, roundTripMs, clients, Math.round(times.length / seconds), at(0.5), at(0.99), perPut)
  }
  running.child.kill('SIGTERM')
  await running.ended
}
close()
await rm(dir, { recursive: true })

/** Each client sends one write after the other. Returns how long each took, in milliseconds. */
async function write(url: string, clients: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + seconds * 1_000
  let next = 0
  const client = async () => {
    while (performance.now() < end) {
      const json = { objects: [{ id: `${clients}-${next++}`, fields: { v: Array.from({ length: 16 }, Math.random) } }] }
      const from = performance.now()
      const reply = await send(url, 'POST', '/api/v2/collection/docs/objects', { json })
      if (reply.status !== 200) throw new Error(reply.text)
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return times
}
