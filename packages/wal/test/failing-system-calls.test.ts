// A real process on a real disk whose system calls fail. It acknowledges nothing more, exits with code 74, never syncs
// or writes that descriptor again, and a restart finds every acknowledged record.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { type Lsn, openFileLog } from '../src/index.ts'
import { patient, sized } from './patience.ts'
import { runAppender } from './real-process.ts'

const source = fileURLToPath(new URL('./native/fail-calls.c', import.meta.url))

/** Approximate number of each call in a run of 60 records; the failing call is spread over that range. */
const calls = [
  { call: 'fdatasync', upTo: 60 },
  { call: 'pwrite64', upTo: 120 },
  { call: 'fsync', upTo: 4 },
  { call: 'rename', upTo: 3 },
  { call: 'open64', upTo: 12 },
]

test('whatever system call fails, nothing acknowledged is lost', patient, async (t) => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'annal-shim-')))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const shim = join(dir, 'shim.so')
  try {
    execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl'], { stdio: 'pipe' })
  } catch (error) {
    t.pass('failing system calls', { skip: `the shim cannot be compiled here: ${String(error)}` })
    return
  }
  let runs = 0
  for (const { call, upTo } of calls) {
    for (let i = 0; i < sized(4, 40); i++) {
      const callNumber = Math.min(upTo, 1 + i + Math.floor((i * upTo) / sized(4, 40)))
      for (const errno of call === 'pwrite64' ? ['EIO', 'ENOSPC'] : ['EIO']) {
        const place = join(dir, `run-${runs++}`)
        const wal = join(place, 'wal')
        const log = join(dir, `calls-${runs}`)
        execFileSync('mkdir', [place])
        const run = await runAppender({
          dir: wal,
          count: 60,
          width: 1,
          env: {
            LD_PRELOAD: shim,
            SHIM_DIR: place,
            SHIM_CALL: call,
            SHIM_AT: String(callNumber),
            SHIM_ERRNO: String(constants.errno[errno as 'EIO']),
            SHIM_LOG: log,
          },
        })
        const name = `${call} number ${callNumber} with ${errno}`
        const noted = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
        t.ok(noted[0]?.startsWith('failed'), `${name}: the call was made and failed`)
        t.equal(run.exitCode, errno === 'EIO' ? 74 : run.exitCode, `${name}: ${run.lines.at(-1)}`)
        if (errno === 'EIO') {
          const again = noted.slice(1).filter((line) => /^after (fdatasync|fsync|pwrite64) /.test(line))
          t.same(again, [], `${name}: the descriptor was left alone`)
        } else t.match(run.lines.at(-1), /stopped disk_full|closed/, `${name}: a full disk is reported`)
        const found = await namesIn(wal)
        t.ok(
          run.acked.every((one) => found.has(one)),
          `${name}: all ${run.acked.length} acknowledged are there`,
        )
        rmSync(place, { recursive: true })
      }
    }
  }
})

async function namesIn(dir: string): Promise<Set<string>> {
  const log = await openFileLog({ dir, freeBytesHard: 0 })
  const names = new Set<string>()
  for await (const { payload } of log.read(1 as Lsn)) names.add(Buffer.from(payload).toString().slice(0, 10))
  await log.close()
  return names
}
