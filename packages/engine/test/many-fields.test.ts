// Collections with more dense fields than the process has file descriptors can be created, filled, searched, and opened again.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Taken, takenByProcess } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'

tap.setTimeout(7_200_000)

const skip = takenByProcess() === undefined && 'the system has no /proc to count in'
const long = process.env.ANNAL_LONG === undefined && 'takes an hour: ANNAL_LONG=1 runs it'

interface Found {
  readonly limit: number
  readonly full: Taken
  readonly restarted: Taken
  readonly wrong: number
  readonly health: { readonly status: string; readonly reasons: readonly string[] }
}

async function fillCollections(
  t: Test,
  { descriptors, collections, filled }: { descriptors: number; collections: number; filled: number },
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-many-fields-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const program = fileURLToPath(new URL('many-fields-program.ts', import.meta.url))
  const args = ['--conditions=annal-source', program, join(dir, 'data'), `${collections}`, `${filled}`]
  const { NODE_OPTIONS: _, ...env } = process.env
  const shell = ['-c', `ulimit -n ${descriptors} && exec "$0" "$@"`, process.execPath, ...args]
  const { stdout } = await promisify(execFile)('/bin/sh', shell, { env })
  t.comment(stdout.trim())
  const { limit, full, restarted, wrong, health } = JSON.parse(stdout) as Found
  t.equal(limit, descriptors)
  t.equal(wrong, 0, 'all digests and answers are right after the restart')
  t.same(health, { status: 'ok', reasons: [] })
  for (const taken of [full, restarted]) t.ok(taken.descriptors < descriptors, `${taken.descriptors} descriptors`)
  // One for each filled field, and the released ones that are not collected yet.
  t.ok(restarted.memories < filled * 8 + 300, `${restarted.memories} memories`)
}

test('30 collections of 8 dense fields with 160 descriptors', { skip }, (t) =>
  fillCollections(t, { descriptors: 160, collections: 30, filled: 30 }),
)

test('1,500 collections of 8 dense fields that hold data with 1,024 descriptors', { skip: skip || long }, (t) =>
  fillCollections(t, { descriptors: 1_024, collections: 1_500, filled: 1_500 }),
)

test(
  '10,000 collections of 8 dense fields, 1,000 of which hold data, with 1,024 descriptors',
  { skip: skip || long },
  (t) => fillCollections(t, { descriptors: 1_024, collections: 10_000, filled: 1_000 }),
)
