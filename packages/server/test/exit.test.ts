// Every reason for which a server cannot continue has its own exit code and one line of output.
import { openDataDirectory } from '@annal/wal'
import { test } from 'tap'
import { exitOf } from '../src/exit.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

test('errors of the log and of the system map to their exit codes', (t) => {
  const cases: [string, number][] = [
    ['log_damaged', 65],
    ['identity_damaged', 65],
    ['snapshot_damaged', 65],
    ['EADDRINUSE', 69],
    ['directory_locked', 73],
    ['log_failed', 74],
    ['ENOSPC', 75],
    ['EACCES', 77],
    ['ENOTDIR', 77],
    ['EROFS', 77],
    ['format_too_new', 78],
  ]
  for (const [code, expected] of cases) {
    const exit = exitOf(Object.assign(new Error('what happened\nand more of it'), { code }))
    t.equal(exit.code, expected, code)
    t.equal(exit.lines.length, 1)
    t.notMatch(exit.lines[0], /\n/, 'one line')
  }
  t.end()
})

test('a server ends with 78 and one line at each start with a directory of a newer version', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const data = await openDataDirectory({ dir: dataDir, freeBytesHard: 0 })
  // The log does not look into records, so this is what a newer version writes.
  await data.log.append({ type: 250, version: 1, payload: Buffer.from('new') })
  await data.close()
  for (let start = 0; start < 2; start++) {
    const server = startProcess({ NDD_DATA_DIR: dataDir })
    t.strictSame(await server.ended, { code: 78, signal: null }, server.stderr())
    const lines = `${server.stdout()}${server.stderr()}`.split('\n').filter((line) => line.includes('requires'))
    t.match(lines, [/record of type 250, version 1, which requires a newer version of Annal/])
    t.equal(lines.length, 1)
  }
})

test('an internal error exits with 70 and prints its location', (t) => {
  const exit = exitOf(new TypeError('x is not a function'))
  t.equal(exit.code, 70)
  t.match(exit.lines[0], /exit\.test\.ts/)
  t.equal(exitOf('just a text').code, 70)
  t.end()
})
