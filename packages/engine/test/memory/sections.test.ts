import { test } from 'tap'
import { SectionReader, sectionOf, sourceOf } from '../../src/memory/sections.ts'
import { readerOf, sectionBytes } from './rig.ts'

test('sections are read in order, for any size of pieces', async (t) => {
  const bytes = sectionBytes(sectionOf('ids', Buffer.from('abc'), Buffer.from('defghi')), sectionOf('empty'))
  t.equal(bytes.length % 8, 0, 'sections are padded to 8 bytes')
  for (const pieceBytes of [1, 7, 1_000]) {
    const reader = readerOf(bytes, pieceBytes)
    const ids = await reader.open('ids')
    t.equal(Buffer.from(await ids.take(ids.length)).toString(), 'abcdefghi')
    await ids.end()
    const empty = await reader.open('empty')
    t.equal(empty.length, 0)
    await empty.end()
  }
})

test('a wrong section is damage that names the part', async (t) => {
  const bytes = sectionBytes(sectionOf('meta', Buffer.from('x')))
  await t.rejects(readerOf(bytes).open('ids'), { code: 'snapshot_damaged', message: /replica\/ids.*"meta" is/ })
})

test('bytes that end early, or are left over, are damage', async (t) => {
  const bytes = sectionBytes(sectionOf('ids', Buffer.from('0123456789')))
  const short = new SectionReader(sourceOf([bytes.subarray(0, 30)]), 'replica')
  const body = await short.open('ids')
  await t.rejects(body.take(10), { code: 'snapshot_damaged' })
  const long = await readerOf(bytes).open('ids')
  await long.take(4)
  await t.rejects(long.end(), { code: 'snapshot_damaged', message: /6 bytes more/ })
  await t.rejects(long.take(7), { code: 'snapshot_damaged' })
})

test('a false length costs no memory before it fails', async (t) => {
  const bytes = sectionBytes(sectionOf('ids', Buffer.from('0123456789')))
  bytes.writeBigUint64LE(2n ** 50n, 8)
  const body = await readerOf(bytes).open('ids')
  await t.rejects(body.take(body.length), { code: 'snapshot_damaged' })
  bytes.writeBigUint64LE(2n ** 60n, 8)
  await t.rejects(readerOf(bytes).open('ids'), { code: 'snapshot_damaged' })
})
