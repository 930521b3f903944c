import { test } from 'tap'
import { freeBuffer } from '../src/free-buffer.ts'

test('a freed buffer has no bytes, and its memory is returned at once', async (t) => {
  const before = process.memoryUsage().arrayBuffers
  const floats = new Float32Array(4_000_000).fill(1)
  const part = floats.subarray(5, 10)
  freeBuffer(floats.buffer)
  t.equal(floats.length, 0)
  t.equal(part.length, 0)
  t.ok(process.memoryUsage().arrayBuffers < before + 8_000_000)
  freeBuffer(floats.buffer)
  t.equal(floats.byteLength, 0, 'it may be freed twice')
})

test('shared memory is not freed', async (t) => {
  const shared = new Uint8Array(new SharedArrayBuffer(8)).fill(1)
  freeBuffer(shared.buffer)
  t.equal(shared.length, 8)
})
