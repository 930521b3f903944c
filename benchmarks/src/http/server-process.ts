// Runs the server as a separate process and reads the CPU time of the process and of each thread from /proc. Linux only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export interface BenchedServer {
  readonly url: string
  readonly port: number
  cpu(): Promise<CpuTime>
  stop(): Promise<void>
}

/** Milliseconds since the start of the process. */
export interface CpuTime {
  readonly all: number
  /** CPU time of the thread that reads requests and writes replies. */
  readonly main: number
}

/** With `profileDir`, every thread writes a CPU profile when it exits. */
export async function startServer(dataDir: string, profileDir?: string): Promise<BenchedServer> {
  const main = fileURLToPath(import.meta.resolve('@annal/server/main'))
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  // Runs against the sources or the built packages, like this process.
  const conditions = process.execArgv.filter((argument) => argument.startsWith('--conditions'))
  const child = spawn(process.execPath, [...conditions, ...profiling, main], {
    env: { ...process.env, NDD_SERVER_PORT: '0', NDD_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const url = /http:\/\/\S+/.exec(line.toString())?.[0]
  if (url === undefined) throw new Error(`the server did not start: ${line.toString()}`)
  return {
    url,
    port: Number(new URL(url).port),
    cpu: () => cpuOf(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

async function cpuOf(pid: number): Promise<CpuTime> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const times = await Promise.all(tasks.map((task) => nanosecondsOf(`/proc/${pid}/task/${task}/schedstat`)))
  const all = times.reduce((sum, time) => sum + time, 0)
  return { all: all / 1e6, main: (await nanosecondsOf(`/proc/${pid}/task/${pid}/schedstat`)) / 1e6 }
}

/** Returns 0 for a thread that has exited. */
async function nanosecondsOf(path: string): Promise<number> {
  return Number((await readFile(path, 'utf8').catch(() => '0')).split(' ')[0])
}
