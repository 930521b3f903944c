// Measures where the memory of a server goes while honest clients fill it in a control group, and whether it survives:
//   node --conditions=annal-source packages/server/test/memory-figures.ts MIB CLIENTS [BATCHES] [NAME=VALUE ...]
// MIB is the limit of the control group, NAME=VALUE are settings of the server. ANNAL_BUILT=1 uses the build. Needs the right to create a control group.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { makeMemoryCgroup } from './memory-cgroup.ts'
import { call, fill, filledDefinition, missing } from './memory-load.ts'
import { startProcess } from './running-process.ts'

const [mebibytes = '450', clients = '4', batches = '400', ...settings] = process.argv.slice(2)
const mebibyte = 2 ** 20
const mb = (bytes: number): string => `${(bytes / mebibyte).toFixed(0)}`.padStart(5)

const group = await makeMemoryCgroup(Number(mebibytes) * mebibyte)
if (group === undefined) throw new Error('no memory control group can be created here')
const dataDir = await mkdtemp(path.join(os.tmpdir(), 'annal-memory-'))
const environment = Object.fromEntries(settings.map((text) => text.split('=', 2) as [string, string]))
const start = () =>
  startProcess(
    { NDD_DATA_DIR: dataDir, NDD_NUM_THREADS: '2', NDD_NUM_SERVER_THREADS: '2', ...environment },
    undefined,
    group.join,
  )
let server = start()

/** One line: the process, the group, and the parts that the engine counts, in MiB. */
async function look(url: string, what: string): Promise<void> {
  const status = await readFile(`/proc/${server.child.pid}/status`, 'utf8').catch(() => '')
  const kib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1024
  const [anon, file, shmem] = [kib('RssAnon'), kib('RssFile'), kib('RssShmem')]
  const metrics = await call(url, 'GET', '/metrics').catch(() => ({ text: '' }))
  const of = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics.text)?.[1] ?? 0)
  const parts = [...metrics.text.matchAll(/^annal_memory_bytes\{part="(\w+)"\} (\S+)$/gm)]
  const engine = parts.map(([, name, bytes]) => `${name} ${mb(Number(bytes)).trim()}`).join(', ')
  const heap = of('annal_heap_bytes') || of('nodejs_heap_size_used_bytes')
  const window = of('annal_asof_window_bytes')
  console.log(
    `${what} anon ${mb(anon)} file ${mb(file)} shmem ${mb(shmem)} | group ${mb(await group!.held())} | heap ${mb(heap)} window ${mb(window)} | ${engine}`,
  )
}

try {
  const url = await server.serving
  await look(url, 'started')
  const created = await call(url, 'POST', '/api/v2/collection', filledDefinition('filled'))
  if (created.status !== 200) throw new Error(created.text)
  let last = 0
  const begun = performance.now()
  const filled = await fill({
    ...{ url, collection: 'filled', clients: Number(clients), batchesMax: Number(batches) },
    onReply: (reply, sent) => {
      if (sent < last + 10) return
      last = sent
      void look(url, `${sent} batches, ${reply.status}:`)
    },
  })
  const { acknowledged, refused, overloaded, failures, lastRefusal, overloads } = filled
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0)
  console.log(
    `${acknowledged.length} batches acknowledged, ${refused} refused with 507, ${overloaded} with 503 in ${seconds} s; kills: ${await group.kills()}`,
  )
  if (lastRefusal !== '') console.log(lastRefusal)
  for (const [message, times] of overloads) console.log(`503, ${times} times: ${message}`)
  for (const failure of failures) console.log(`failure: ${failure}`)
  if (server.child.exitCode === null && server.child.signalCode === null) {
    await look(url, 'filled')
    console.log(`missing: ${(await missing(url, 'filled', filled)).length}`)
    await look(url, 'read')
    server.child.kill('SIGTERM')
  }
  console.log('ended', await server.ended, server.stderr().slice(-2_000))
  const from = performance.now()
  server = start()
  const again = await server.serving
  console.log(`started again in ${((performance.now() - from) / 1_000).toFixed(1)} s; kills: ${await group.kills()}`)
  await look(again, 'started again')
  console.log(`missing: ${(await missing(again, 'filled', filled)).length}`)
} finally {
  server.child.kill('SIGKILL')
  await server.ended
  await group.remove()
  await rm(dataDir, { recursive: true, force: true })
}
