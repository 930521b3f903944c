// Frames of format version 1, byte for byte. ANNAL_WRITE_GOLDEN=1 writes the file of a new version.
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { decodeFrame, decodeRecords, encodeBatch, encodeFrame } from '../../src/replicated/frame.ts'

const path = new URL('../golden-frames/frames-1.json', import.meta.url)
const logId = 0x1122334455667788n

function frames(): string[] {
  const fence = {
    kind: 'fence',
    more: false,
    epoch: 3,
    lsnFirst: 0,
    prevSum: 0n,
    pieces: [Buffer.alloc(16, 7)],
  } as const
  const records = ['first', 'second '.repeat(40), 'third'].map((text, i) => {
    const payload = Buffer.from(text)
    return { type: 16 + i, version: i, pieces: [payload], length: payload.length }
  })
  const data = encodeBatch(records, { logId, epoch: 3, lsnFirst: 41, prevSum: 0x99n }, 160)
  return [encodeFrame(logId, fence), ...data].map(({ bytes }) => bytes.toString('hex'))
}

test('frames are written and read as version 1 has them', async (t) => {
  if (process.env.ANNAL_WRITE_GOLDEN === '1') writeFileSync(path, `${JSON.stringify(frames(), undefined, 2)}\n`)
  const golden: string[] = JSON.parse(readFileSync(path, 'utf8'))
  t.same(frames(), golden)
  const [fence, ...data] = golden.map((hex, i) => decodeFrame(logId, { seq: i + 1, bytes: Buffer.from(hex, 'hex') }))
  t.match(fence, { kind: 'fence', epoch: 3, lsnFirst: 0, more: false })
  t.ok(data.length > 2 && data.every(({ more }, i) => more === i < data.length - 1))
  const records = decodeRecords(
    data.map(({ body }) => body),
    41,
    4,
  )
  t.same(
    records.map(({ lsn, type, version, payload }) => [lsn, type, version, payload.length]),
    [
      [41, 16, 0, 5],
      [42, 17, 1, 280],
      [43, 18, 2, 5],
    ],
  )
})

test('a frame with any bit changed, any byte missing, or of another version is refused', async (t) => {
  const golden: string[] = JSON.parse(readFileSync(path, 'utf8'))
  const whole = Buffer.from(golden[1] ?? '', 'hex')
  const refuses = (bytes: Buffer) => {
    try {
      decodeFrame(logId, { seq: 1, bytes })
      return false
    } catch (error) {
      return error instanceof Error && error.name === 'WalError'
    }
  }
  let accepted = 0
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const changed = Buffer.from(whole)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    if (!refuses(changed)) accepted++
  }
  for (let length = 0; length < whole.length; length++) if (!refuses(whole.subarray(0, length))) accepted++
  t.equal(accepted, 0)
})
