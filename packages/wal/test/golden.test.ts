// Data directories written by released versions, byte for byte. They open with all their records; a directory that
// cannot be opened is refused by name and left unchanged.
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { xxh64 } from '../src/checksum.ts'
import { type Lsn, nodeVfs, openDataDirectory, verifyLog, WalError } from '../src/index.ts'

const golden = fileURLToPath(new URL('./golden/', import.meta.url))

function copyOf(t: Test, which: string): string {
  const dir = join(mkdtempSync(join(tmpdir(), 'annal-golden-')), 'data')
  t.teardown(() => rmSync(join(dir, '..'), { recursive: true, force: true }))
  cpSync(join(golden, which), dir, { recursive: true })
  return dir
}

function hashOf(dir: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()) {
    hash.update(name)
    if (/\.\w+$|TIP$|IDENTITY$|LOCK$/.test(name)) hash.update(readFileSync(join(dir, name)))
  }
  return hash.digest('hex')
}

function firstSegment(dir: string): string {
  return join(dir, 'wal', readdirSync(join(dir, 'wal')).sort()[1] ?? '')
}

for (const format of readdirSync(golden)) {
  for (const state of ['closed', 'left']) {
    test(`a directory of ${format}, ${state}, opens with everything it held`, async (t) => {
      const dir = copyOf(t, join(format, state))
      t.ok((await verifyLog({ vfs: nodeVfs(), dir: join(dir, 'wal') })).isGood)
      const data = await openDataDirectory({ dir, freeBytesHard: 0 })
      t.notOk(data.isNew)
      let i = 0
      for await (const record of data.log.read(1 as Lsn)) {
        i++
        const expected = { lsn: i, type: 16 + (i % 3), version: i % 5, payload: Buffer.alloc(1 + ((i * 29) % 200), i) }
        if (!Buffer.from(record.payload).equals(expected.payload)) t.fail(`payload of LSN ${i}`)
        t.match(
          { lsn: record.lsn, type: record.type, version: record.version },
          { lsn: i, type: expected.type, version: expected.version },
        )
      }
      t.equal(i, 100)
      await data.close()
    })
  }
}

const refusals: Readonly<Record<string, { readonly code: string; readonly change: (dir: string) => void }>> = {
  'a segment of a newer format': {
    code: 'format_too_new',
    change: (dir) => rewriteHeader(dir, (bytes) => bytes.writeUInt16LE(2, 10)),
  },
  'a header written with the other byte order': {
    code: 'log_damaged',
    change: (dir) => rewriteHeader(dir, (bytes) => bytes.subarray(16, 56).swap64()),
  },
  'an empty file where a segment was': { code: 'log_damaged', change: (dir) => writeFileSync(firstSegment(dir), '') },
  'a log that is gone': { code: 'log_damaged', change: (dir) => rmSync(join(dir, 'wal'), { recursive: true }) },
  'a log without its identity': { code: 'identity_damaged', change: (dir) => rmSync(join(dir, 'IDENTITY')) },
  'an identity of a newer format': {
    code: 'format_too_new',
    change: (dir) => {
      const body = '{"magic":"ANNLID","uuid":"u","formatVersion":2,"createdAt":"2030-01-01"}'
      writeFileSync(
        join(dir, 'IDENTITY'),
        `${body.slice(0, -1)},"xxh64":"${xxh64(Buffer.from(body)).toString(16).padStart(16, '0')}"}\n`,
      )
    },
  },
}

for (const [what, { code, change }] of Object.entries(refusals)) {
  test(`${what} is refused by name, and the directory stays unchanged`, async (t) => {
    const dir = copyOf(t, 'format-1/closed')
    change(dir)
    const before = hashOf(dir)
    const refused = await openDataDirectory({ dir, freeBytesHard: 0 }).catch((error: unknown) => error)
    t.equal(refused instanceof WalError ? refused.code : refused, code)
    t.equal(hashOf(dir), before)
  })
}

test('left-overs of interrupted work are cleaned up, and unknown files are left alone', async (t) => {
  const dir = copyOf(t, 'format-1/closed')
  writeFileSync(join(dir, 'wal', 'probe.tmp'), 'x')
  writeFileSync(join(dir, 'wal', '00000000000000000009-00000000000000000300.wal.tmp'), 'x')
  writeFileSync(join(dir, 'wal', 'notes.txt'), 'x')
  const data = await openDataDirectory({ dir, freeBytesHard: 0 })
  await data.close()
  const names = readdirSync(join(dir, 'wal'))
  t.notOk(names.some((name) => name.endsWith('.tmp')))
  t.ok(names.includes('notes.txt'))
})

function rewriteHeader(dir: string, change: (bytes: Buffer) => void): void {
  const path = firstSegment(dir)
  const bytes = readFileSync(path)
  change(bytes)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, 56)), 56)
  writeFileSync(path, bytes)
}
