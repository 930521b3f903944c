// Backups that were changed by somebody who knows the format: every checksum is right, and the content is one that no client can write.
import { createHash } from 'node:crypto'
import { EngineError } from '@annal/engine'
import { test } from 'tap'
import { xxh64 } from '../../src/memory/xxh64.ts'
import { backedUp, openedEngine } from './rig.ts'

const hex = (sum: bigint): string => sum.toString(16).padStart(16, '0')
const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** Changes the only chunk of the first file of a container, and makes all checksums right. The digest is stated to be unknown. */
function forged(whole: Buffer, change: (chunk: Buffer) => void): Buffer {
  const manifestBytes = whole.readUInt32LE(12)
  const { format, image } = JSON.parse(whole.subarray(16, 16 + manifestBytes).toString())
  const at = 16 + manifestBytes + 16
  const file = Buffer.from(whole.subarray(at, at + image.parts[0].bytes))
  const chunk = file.subarray(80, 80 + file.readUInt32LE(64))
  change(chunk)
  file.writeBigUInt64LE(xxh64(chunk, 0n), 72)
  const sum = xxh64(file.subarray(72, 80))
  file.writeBigUInt64LE(sum, file.length - 8)
  Object.assign(image.parts[0], { sum: hex(sum), sha256: sha256(file) })
  image.digest = ''
  const body = JSON.stringify(image)
  const manifest = Buffer.from(`{"format":${format},"sha256":"${sha256(body)}","image":${body}}\n`)
  const head = Buffer.from(whole.subarray(0, 16))
  head.writeUInt32LE(manifest.length, 12)
  return Buffer.concat([head, manifest, whole.subarray(at - 16, at), file, whole.subarray(at + file.length)])
}

/** The place of a column of ascending numbers. */
function columnAt(chunk: Buffer, name: string, first: readonly number[]): number {
  const numbers = Buffer.from(Uint32Array.from(first).buffer)
  const place = chunk.indexOf(numbers, chunk.indexOf(name))
  if (place < 0) throw new Error(`${name} is not there`)
  return place
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

test('a forged backup whose objects have no vectors in its files is rejected, and health stays ok', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  const params = { dimension: 4, spaceType: 'cosine', precision: 'int8' } as const
  const fields = [
    { name: 'v', type: 'vector', params },
    { name: 'm', type: 'multi_vector', params: { ...params, pooling: 'mean' } },
  ] as const
  const collection = await database.createCollection({ name: 'a', fields })
  const vector = (i: number): number[] => [1, i, i % 7, 2]
  await collection.upsert(
    Array.from({ length: 50 }, (_, i) => ({ id: `o${i}`, fields: { v: vector(i), m: [vector(i), vector(i + 1)] } })),
  )
  await engine.checkpoint()
  await backedUp(database, 'a', 'whole')
  const pieces: Uint8Array[] = []
  for await (const piece of database.backups.download('whole').stream) pieces.push(piece)
  const whole = Buffer.concat(pieces)
  await database.backups.upload('same', once(forged(whole, () => undefined)))
  await database.backups.remove('same')
  const places: [string, (chunk: Buffer) => void][] = [
    ['a slot behind the file', (chunk) => chunk.writeUInt32LE(99_999, columnAt(chunk, 'originals.0.slots', [1, 2, 3]))],
    ['a slot of no file', (chunk) => chunk.writeUInt32LE(2 ** 32 - 1, columnAt(chunk, 'originals.0.slots', [1, 2, 3]))],
    [
      'an object without its vector',
      (chunk) => chunk.writeUInt32LE(0, columnAt(chunk, 'originals.0.slots', [1, 2, 3])),
    ],
    ['too many members', (chunk) => chunk.writeUInt32LE(1e9, columnAt(chunk, 'originals.1.counts', [2, 2, 2]))],
    ['members of no file', (chunk) => chunk.writeUInt32LE(1e6, columnAt(chunk, 'originals.1.slots', [1, 3, 5]))],
  ]
  for (const [label, change] of places) {
    const error = await database.backups.upload('forged', once(forged(whole, change))).catch((thrown) => thrown)
    t.match([error instanceof EngineError, error?.code], [true, 'backup_damaged'], `${label}: ${error?.message}`)
  }
  t.same(
    database.backups.list().map(({ name }) => name),
    ['whole'],
  )
  t.same(engine.health(), { status: 'ok', reasons: [] })
})
