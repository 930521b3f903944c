// Runs a server as a separate process and reads the CPU time of each of its threads from /proc. Linux only.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface BenchedServer {
  readonly port: number
  readonly pid: number
  cpu(): Promise<CpuTimes>
  /** The names of its threads, by their numbers. */
  names(): Promise<ReadonlyMap<string, string>>
  /** How often its threads lost or gave up their cores since they started. */
  switches(): Promise<number>
  residentBytes(): Promise<number>
  stop(): Promise<void>
}

/** Milliseconds of CPU time of each thread since it started, by its number; threads that exited are missing. */
export type CpuTimes = ReadonlyMap<string, number>

export interface ServerOptions {
  readonly dataDir: string
  /** The folder of another checkout. Default: this one. */
  readonly checkout?: string
  /** Serving threads. Default: that of the server. */
  readonly threads?: number
  /** Every thread writes a CPU profile into this folder when it exits. */
  readonly profileDir?: string
  readonly environment?: Readonly<Record<string, string>>
}

export async function startServer(options: ServerOptions): Promise<BenchedServer> {
  const { dataDir, checkout, threads, profileDir, environment } = options
  // Runs against the sources or the built packages, like this process.
  const conditions = process.execArgv.filter((argument) => argument.startsWith('--conditions'))
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const main = checkout === undefined ? fileURLToPath(import.meta.resolve('@annal/server/main')) : mainOf(checkout)
  const child = spawn(process.execPath, [...conditions, ...profiling, main], {
    env: {
      ...process.env,
      NDD_SERVER_PORT: '0',
      NDD_DATA_DIR: dataDir,
      ...environment,
      ...(threads === undefined ? {} : { NDD_NUM_SERVER_THREADS: `${threads}` }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await addressOf(child)
  const pid = child.pid ?? 0
  return {
    port: Number(new URL(url).port),
    pid,
    cpu: () => cpuOf(pid),
    names: () => namesOf(pid),
    switches: () => switchesOf(pid),
    residentBytes: () => residentBytesOf(pid),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

function mainOf(checkout: string): string {
  const server = path.join(checkout, 'packages', 'server')
  const isSource = process.execArgv.some((argument) => argument.endsWith('annal-source'))
  const main = path.join(server, isSource ? 'src/main.ts' : 'dist/main.js')
  if (!existsSync(main)) throw new Error(`${main} does not exist: build that checkout first`)
  return main
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stdout?.on('data', (bytes: Buffer) => {
      printed += bytes.toString()
      const url = /http:\/\/\S+/.exec(printed)?.[0]
      if (url !== undefined) resolve(url)
    })
    child.on('close', () => reject(new Error(`the server did not start: ${printed}`)))
  })
}

async function cpuOf(pid: number): Promise<CpuTimes> {
  const tasks = await readdir(`/proc/${pid}/task`)
  return new Map(await Promise.all(tasks.map(async (task) => [task, await millisecondsOf(pid, task)] as const)))
}

/** Returns 0 for a thread that has exited. */
async function millisecondsOf(pid: number, task: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0')
  return Number(text.split(' ')[0]) / 1e6
}

async function namesOf(pid: number): Promise<ReadonlyMap<string, string>> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const read = (task: string) => readFile(`/proc/${pid}/task/${task}/comm`, 'utf8').catch(() => '')
  return new Map(await Promise.all(tasks.map(async (task) => [task, (await read(task)).trim()] as const)))
}

async function switchesOf(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const texts = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/status`, 'utf8').catch(() => '')),
  )
  const counts = texts.flatMap((text) =>
    [...text.matchAll(/ctxt_switches:\s+(\d+)/g)].map(([, count]) => Number(count)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function residentBytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024
}

/** Milliseconds of each thread between two readings, the largest first. */
export function cpuBetween(before: CpuTimes, after: CpuTimes): number[] {
  return [...after].map(([task, ms]) => Math.max(0, ms - (before.get(task) ?? 0))).sort((a, b) => b - a)
}

/** Milliseconds of the threads in which V8 compiles and collects garbage, between two readings. Node.js names them since version 22. */
export function compilingMs(before: CpuTimes, after: CpuTimes, names: ReadonlyMap<string, string>): number {
  let sum = 0
  for (const [task, ms] of after) if (names.get(task) === 'V8Worker') sum += ms - (before.get(task) ?? 0)
  return sum
}
