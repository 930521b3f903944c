// Signals other than SIGTERM and SIGINT under load (shutdown.test.ts): what stops, what reloads, and what is ignored.
import path from 'node:path'
import { test } from 'tap'
import { until } from './eventually.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

test('SIGHUP stops a server without TLS in order, and SIGUSR1 and SIGUSR2 do nothing', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const { child, serving, ended, stderr } = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => child.kill('SIGKILL'))
  const url = await serving
  for (let i = 0; i < 20; i++) for (const name of ['SIGUSR1', 'SIGUSR2'] as const) child.kill(name)
  t.equal((await send(url, 'GET', '/api/v2/health')).status, 200)
  t.notMatch(stderr(), /Debugger/, 'no debugger is open')
  for (let i = 0; i < 20; i++) child.kill('SIGHUP')
  t.strictSame(await ended, { code: 0, signal: null })
  t.match(stderr(), /SIGHUP, stopping/)
})

test('a server that a signal reaches before it has opened anything ends with code 0', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const report = 'process.once("newListener",name=>process.stderr.write("listens for "+name))'
  const { child, ended, stderr } = startProcess({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}`,
    NDD_DATA_DIR: dataDir,
  })
  t.teardown(() => child.kill('SIGKILL'))
  // The modules of the server are loaded after this.
  await until(() => /listens for SIG/.test(stderr()))
  child.kill('SIGTERM')
  t.strictSame(await ended, { code: 0, signal: null }, stderr())
  t.notMatch(stderr(), /stopping/)
})
