// Opens an engine of Annal in the folder that the argument names, and answers messages from standard input on standard output, one
// after another, until the input ends. All integers are unsigned, 32 bits, little-endian.
//
//   message            kind  first         second  size of the data  data
//   create             1     0             0       ...               JSON: parameters of the field
//   add                2     first number  rows    ...               rows of 32-bit floats; ids are the numbers
//   search             3     limit         ef      ...               rows of 32-bit floats
//   memory             4     0             0       0
//
//   reply              0 or 1: failed      size of the data          data
//   create, add                                                      none
//   search                                                           for each row `limit` numbers, signed; missing ones are -1
//   memory                                                           resident bytes of this process, a 64-bit float
//   failed                                                           the error as text
import { openEngine } from '@annal/engine'

const headBytes = 16
const batchMax = 1_000
/** Searches that run at the same time: enough for every thread to have one and some to wait. */
const searchesAtOnce = 64
const field = 'vector'

const engine = await openEngine({ dataDir: process.argv[2] })
let collection
let dimension = 0
/** Bytes that have arrived and were not read yet. */
let chunks = []
let arrived = 0
let wake = () => undefined

process.stdin.on('data', (chunk) => {
  chunks.push(chunk)
  arrived += chunk.length
  wake()
})
process.stdin.on('end', () => {
  arrived = Number.NaN
  wake()
})
while (await answerNext());
await engine.close()

/** Returns whether there was a message. */
async function answerNext() {
  const head = await take(headBytes)
  if (head === undefined) return false
  const [kind, first, second, size] = [0, 4, 8, 12].map((offset) => head.readUInt32LE(offset))
  const data = size === 0 ? Buffer.alloc(0) : await take(size)
  if (data === undefined) return false
  try {
    reply(0, await answer({ kind, first, second, data }))
  } catch (error) {
    reply(1, Buffer.from(String(error)))
  }
  return true
}

/** Resolves to so many bytes of the input, or to undefined at its end. */
async function take(size) {
  while (arrived < size) await new Promise((resolve) => (wake = resolve))
  if (Number.isNaN(arrived)) return undefined
  const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
  chunks = whole.length === size ? [] : [whole.subarray(size)]
  arrived -= size
  return whole.subarray(0, size)
}

function reply(failed, data) {
  const head = Buffer.alloc(8)
  head.writeUInt32LE(failed, 0)
  head.writeUInt32LE(data.length, 4)
  process.stdout.write(Buffer.concat([head, data]))
}

async function answer({ kind, first, second, data }) {
  if (kind === 1) return create(JSON.parse(data.toString()))
  if (kind === 2) return add(first, rowsOf(data))
  if (kind === 3) return search(rowsOf(data), first, second)
  if (kind === 4) return Buffer.from(Float64Array.of(process.memoryUsage.rss()).buffer)
  throw new Error(`there is no message of kind ${kind}`)
}

async function create(params) {
  dimension = params.dimension
  const definition = { name: 'ann-benchmarks', fields: [{ name: field, type: 'vector', params }] }
  collection = await engine.database().createCollection(definition)
  return Buffer.alloc(0)
}

function rowsOf(data) {
  const floats = new Float32Array(data.length / Float32Array.BYTES_PER_ELEMENT)
  new Uint8Array(floats.buffer).set(data)
  return Array.from({ length: floats.length / dimension }, (_, i) =>
    floats.subarray(i * dimension, (i + 1) * dimension),
  )
}

async function add(first, rows) {
  for (let from = 0; from < rows.length; from += batchMax) {
    const batch = rows.slice(from, from + batchMax)
    await collection.upsert(batch.map((row, i) => ({ id: String(first + from + i), fields: { [field]: row } })))
  }
  return Buffer.alloc(0)
}

async function search(rows, limit, ef) {
  const found = new Int32Array(rows.length * limit).fill(-1)
  let next = 0
  const work = async () => {
    while (next < rows.length) {
      const i = next++
      const { results } = await collection.search({ fields: { [field]: { query: rows[i], limit, ef } } })
      found.set(
        results[field].map(({ id }) => Number(id)),
        i * limit,
      )
    }
  }
  await Promise.all(Array.from({ length: Math.min(searchesAtOnce, rows.length) }, work))
  return Buffer.from(found.buffer)
}
