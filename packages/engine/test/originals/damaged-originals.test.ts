// A vector on disk that does not match its checksum fails the read that needs it, and is in the health from then on: nobody else would see it
// until the next start.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'tap'
import { openEngine } from '../../src/index.ts'

test('the health names the file of a damaged vector, once', async (t) => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-damaged-originals-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const notices: string[] = []
  const engine = await openEngine({ dataDir, threads: 1, onNotice: (sentence) => notices.push(sentence) })
  const params = { dimension: 4, spaceType: 'l2', precision: 'int8' } as const
  const open = async (name: string) => {
    const collection = await engine
      .database()
      .createCollection({ name, fields: [{ name: 'v', type: 'vector', params }] })
    const objects = Array.from({ length: 20 }, (_, i) => ({ id: `${i}`, fields: { v: [i, i / 3, 0.1, 7] } }))
    await collection.upsert(objects)
    return collection
  }
  const collection = await open('damaged')
  const sound = await open('sound')
  t.strictSame(engine.health(), { status: 'ok', reasons: [] })

  const folder = path.join(dataDir, 'originals')
  const [name = ''] = readdirSync(folder).sort()
  const file = path.join(folder, name)
  const bytes = readFileSync(file)
  // Within the rows, which are 20 of 4 numbers and a checksum after the header.
  const at = bytes.lastIndexOf(Buffer.from(Float32Array.of(0.1, 7).buffer))
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(file, bytes)

  const exact = { fields: { v: { query: [1, 2, 3, 4], limit: 20 } }, exact: true }
  for (let i = 0; i < 2; i++) await t.rejects(collection.search(exact), { code: 'snapshot_damaged', details: { file } })
  const { status, reasons } = engine.health()
  t.equal(status, 'degraded')
  t.equal(reasons.length, 1)
  t.match(reasons[0], new RegExp(`the vector at byte \\d+ of .*${name} is damaged`))
  t.strictSame(
    notices.filter((notice) => notice.includes(name)),
    [reasons[0]],
  )
  t.equal((await sound.search(exact)).results.v?.length, 20)
  await engine.close().catch(() => undefined)
})
