// Under strace: no acknowledgment leaves the process before the sync that covers its bytes has returned, and no record
// is acknowledged in a file whose name is not yet durable.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'tap'
import { patient, sized } from './patience.ts'
import { runAppender } from './real-process.ts'

interface SystemCall {
  readonly name: string
  readonly text: string
  /** Line numbers of its start and its return. */
  readonly began: number
  readonly ended: number
}

/** Parses the trace into whole calls; a call interrupted by another thread's line is joined again. */
function parseTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = []
  const open = new Map<string, { name: string; text: string; began: number }>()
  for (const [line, raw] of trace.split('\n').entries()) {
    const found = /^(\d+) +(.*)$/.exec(raw)
    const [thread, text] = [found?.[1] ?? '', found?.[2] ?? '']
    const resumed = /^<\.\.\. (\w+) resumed>(.*)$/.exec(text)
    if (resumed !== null) {
      const begun = open.get(thread)
      if (begun !== undefined) calls.push({ ...begun, text: begun.text + (resumed[2] ?? ''), ended: line })
      open.delete(thread)
      continue
    }
    const name = /^(\w+)\(/.exec(text)?.[1]
    if (name === undefined) continue
    const unfinished = text.indexOf(' <unfinished ...>')
    if (unfinished >= 0) open.set(thread, { name, text: text.slice(0, unfinished), began: line })
    else calls.push({ name, text, began: line, ended: line })
  }
  return calls.sort((a, b) => a.ended - b.ended)
}

const recordNames = /rec-\d{6}/g
const onFile = /^\w+\(\d+<([^>]*)>/

interface Findings {
  readonly acknowledged: number
  readonly early: readonly string[]
  readonly nameless: readonly string[]
  readonly unsyncedNames: readonly string[]
}

function judge(calls: readonly SystemCall[], dir: string): Findings {
  const writtenAt = new Map<string, { path: string; ended: number }>()
  const syncs: { path: string; began: number; ended: number }[] = []
  const named = new Map<string, number>()
  const removed: { path: string; line: number }[] = []
  const early: string[] = []
  const nameless: string[] = []
  let acknowledged = 0
  for (const call of calls) {
    const path = onFile.exec(call.text)?.[1] ?? ''
    if (call.name === 'pwrite64' && path.endsWith('.wal')) {
      for (const [name] of call.text.matchAll(recordNames)) writtenAt.set(name, { path, ended: call.ended })
    } else if (call.name === 'fdatasync' || call.name === 'fsync') {
      if (/= 0$/.test(call.text.trim())) syncs.push({ path, began: call.began, ended: call.ended })
    } else if (call.name.startsWith('rename')) {
      const to = [...call.text.matchAll(/"([^"]*)"/g)].at(-1)?.[1] ?? ''
      if (to.endsWith('.wal')) named.set(to, call.ended)
    } else if (call.name.startsWith('unlink')) {
      const gone = /"([^"]*)"/.exec(call.text)?.[1] ?? ''
      if (gone.endsWith('.wal')) removed.push({ path: gone, line: call.ended })
    } else if (call.name === 'write' && call.text.includes('"ack rec-')) {
      const name = /rec-\d{6}/.exec(call.text)?.[0] ?? ''
      const written = writtenAt.get(name)
      acknowledged++
      const isSynced = syncs.some(
        (sync) => sync.path === written?.path && sync.began > written.ended && sync.ended < call.began,
      )
      if (written === undefined || !isSynced) early.push(name)
      const since = named.get(written?.path ?? '') ?? Infinity
      if (!syncs.some((sync) => sync.path === dir && sync.began > since && sync.ended < call.began)) nameless.push(name)
    }
  }
  const unsyncedNames = [...named.entries(), ...removed.map(({ path, line }) => [path, line] as const)]
    .filter(([, line]) => !syncs.some((sync) => sync.path === dir && sync.began > line))
    .map(([path]) => basename(path))
  return { acknowledged, early, nameless, unsyncedNames }
}

for (const width of [1, 8]) {
  test(`with ${width} appends at once every acknowledgement follows its sync`, patient, async (t) => {
    try {
      execFileSync('strace', ['-V'], { stdio: 'pipe' })
    } catch (error) {
      t.pass('the order of system calls', { skip: `strace is not here: ${String(error)}` })
      return
    }
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'annal-strace-')))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    const output = join(dir, 'trace')
    const traced = 'trace=pwrite64,write,fdatasync,fsync,rename,renameat,renameat2,unlink,unlinkat'
    const under = ['strace', '-f', '-y', '-s', '65536', '-e', traced, '-o', output]
    const count = sized(1000, 10_000)
    const run = await runAppender({ dir: join(dir, 'wal'), count, width, under })
    t.equal(run.exitCode, 0, run.lines.at(-1) ?? 'no output')
    t.equal(run.acked.length, count)
    const findings = judge(parseTrace(readFileSync(output, 'utf8')), join(dir, 'wal'))
    t.same(findings, { acknowledged: count, early: [], nameless: [], unsyncedNames: [] })
  })
}
