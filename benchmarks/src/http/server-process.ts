// The server as a process of its own, and the CPU time that it and each of its threads took. Linux only: /proc tells.
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

/** Milliseconds since the process began. */
export interface CpuTime {
  readonly all: number
  /** Of the thread that reads requests and writes replies. */
  readonly main: number
}

/** With `profileDir` every thread writes what it spent its time on when it ends. */
export async function startServer(dataDir: string, profileDir?: string): Promise<BenchedServer> {
  const main = fileURLToPath(import.meta.resolve('@annal/server/main'))
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  // Against the sources or the packages as they are published, like this process itself.
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

/** A thread that ended meanwhile took none. */
async function nanosecondsOf(path: string): Promise<number> {
  return Number((await readFile(path, 'utf8').catch(() => '0')).split(' ')[0])
}
