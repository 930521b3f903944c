// A message of an archive: golden bytes, and that every changed byte is found.
import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { decodeMessage, encodeMessage, type Message } from '../../src/archive/message.ts'

const message: Message = {
  line: { uuid: '01234567-89ab-4cde-8f01-23456789abcd', timeline: 0x89abcdef, forkedAfterLsn: 3 },
  number: 12,
  segmentNumber: 11,
  isAfterGap: true,
  from: { segmentId: 5, segmentLsn: 70, offset: 4096, lsnNext: 81 },
  lsnLast: 95,
  before: Buffer.alloc(32, 7),
  body: Buffer.from('frames of a segment'),
}

test('the bytes of a message are those of version 1', (t) => {
  const golden = readFileSync(new URL('../golden/bucket-archive/message-1.json', import.meta.url), 'utf8')
  const { bytes, sum } = encodeMessage(message)
  t.strictSame({ message: bytes.toString('hex') }, JSON.parse(golden))
  t.strictSame(decodeMessage(bytes, 'it'), { ...message, isTakeover: false, sum })
  const takeover = { ...message, isTakeover: true, body: Buffer.alloc(0) }
  const encoded = encodeMessage(takeover)
  t.strictSame(decodeMessage(encoded.bytes, 'it'), { ...takeover, sum: encoded.sum })
  t.end()
})

test('every changed byte and every length is found', (t) => {
  const { bytes } = encodeMessage(message)
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i] = (changed[i] ?? 0) ^ 0x10
    t.throws(() => decodeMessage(changed, 'it'), { code: 'archive_damaged' }, `byte ${i}`)
    t.throws(() => decodeMessage(bytes.subarray(0, i), 'it'), { code: 'archive_damaged' }, `${i} bytes`)
  }
  t.end()
})
