// The real server from source on one directory, which a test kills and starts again.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { type RunningProcess, startProcess } from '../../server/test/running-process.ts'

export interface MortalServer {
  /** Of the newest process; each has its own port. */
  readonly url: string
  /** SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Resolves to its address when it serves. */
  start(): Promise<string>
}

/** The test removes the directory and ends the process. */
export async function mortalServer(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<MortalServer> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  let running: RunningProcess | undefined
  let url = ''
  const server: MortalServer = {
    get url() {
      return url
    },
    async kill() {
      running?.child.kill('SIGKILL')
      await running?.ended
    },
    async start() {
      running = startProcess({ NDD_DATA_DIR: dataDir, ...settings })
      url = await running.serving
      return url
    },
  }
  t.teardown(async () => {
    await server.kill()
    rmSync(dataDir, { recursive: true })
  })
  await server.start()
  return server
}
