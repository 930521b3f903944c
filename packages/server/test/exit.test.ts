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
    ['ENOTFOUND', 69],
    ['directory_locked', 73],
    ['log_failed', 74],
    ['EIO', 74],
    ['disk_full', 75],
    ['ENOSPC', 75],
    ['EACCES', 77],
    ['ENOTDIR', 77],
    ['ENAMETOOLONG', 77],
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

test('a host that is unknown is named, with the setting', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const server = startProcess({ NDD_DATA_DIR: dataDir, NDD_HOST: '[::1]' })
  t.strictSame(await server.ended, { code: 69, signal: null })
  t.match(server.stderr(), /annal: the host \[::1\] is unknown .*; set NDD_HOST to an address of this machine\n$/)
})

test('an internal error exits with 70 and prints its location', (t) => {
  const exit = exitOf(new TypeError('x is not a function'))
  t.equal(exit.code, 70)
  t.match(exit.lines[0], /exit\.test\.ts/)
  t.equal(exitOf('just a text').code, 70)
  t.end()
})

test('a server on an old Node.js ends with 78 and one line, before it reads a setting or writes to its log', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const old = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})'
  const server = startProcess({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}`,
    NDD_DATA_DIR: dataDir,
    NDD_NO_SETTING: 'x',
    NDD_NUM_SERVER_THREADS: '2',
  })
  t.strictSame(await server.ended, { code: 78, signal: null })
  t.match(server.stderr(), /^annal: Annal needs Node\.js 22\.12\.0 or newer, and this process runs on 20\.20\.2\n$/)
  t.equal(server.stdout(), '')
})
