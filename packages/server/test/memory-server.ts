// A server in a control group with little memory, with the settings of the Docker image and `annal serve`.
import type { Test } from 'tap'
import { memoryLimitMin } from '../src/memory-limit.ts'
import { type MemoryCgroup, makeMemoryCgroup } from './memory-cgroup.ts'
import { call, fill, filledDefinition } from './memory-load.ts'
import { temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

export const allocator = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }

const probe = await makeMemoryCgroup(memoryLimitMin)
await probe?.remove()
/** Why tests with a control group are skipped; false if they run. */
export const skipMemory = probe === undefined && 'no memory control group can be created here'

export interface MemoryServer {
  readonly group: MemoryCgroup
  readonly server: RunningProcess
  readonly url: string
}

/** A server with a collection `docs` that has so many batches of objects. */
export async function serveDocs(t: Test, limitBytes: number, batches: number): Promise<MemoryServer> {
  const group = (await makeMemoryCgroup(limitBytes)) as MemoryCgroup
  const environment = { NDD_DATA_DIR: await temporaryDirectory(t), NDD_NUM_SERVER_THREADS: '2', ...allocator }
  const server = startProcess(environment, undefined, group.join)
  t.teardown(async () => {
    server.child.kill('SIGKILL')
    await server.ended
    await group.remove()
  })
  const url = await server.serving
  t.equal((await call(url, 'POST', '/api/v2/collection', filledDefinition('docs'))).status, 200)
  t.same((await fill({ url, collection: 'docs', clients: 1, batchesMax: batches })).failures, [])
  return { group, server, url }
}
