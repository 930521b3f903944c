// A server of a test as a process whose memory and turns are watched from outside.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type RunningProcess, startProcess } from './running-process.ts'

const probe = fileURLToPath(new URL('turn-probe.ts', import.meta.url))

export interface Turn {
  readonly clockMs: number
  /** Of the processor, without the time that others had it. */
  readonly cpuMs: number
}

export interface WatchedProcess extends RunningProcess {
  /** Of its memory, now and at most since the last reset. */
  memory(): Promise<{ readonly now: number; readonly peak: number }>
  resetPeak(): Promise<void>
  /** The longest turn of its event loop since the last call. */
  longestTurn(): Promise<Turn>
}

/** `through` is as of startProcess. */
export function startWatched(
  environment: Readonly<Record<string, string>>,
  through: readonly string[] = [],
): WatchedProcess {
  const running = startProcess({ NODE_OPTIONS: `--import=${probe}`, ...environment }, undefined, through)
  const { child } = running
  let turns = 0
  const told = (): RegExpMatchArray[] => [...running.stdout().matchAll(/turn ([\d.]+) ([\d.]+)/g)]
  return {
    ...running,
    async memory() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
      const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1024
      return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
    },
    resetPeak: () => writeFile(`/proc/${child.pid}/clear_refs`, '5'),
    longestTurn: () =>
      new Promise((resolve) => {
        const look = (): void => {
          const turn = told()[turns]
          if (turn === undefined) return
          child.stdout?.off('data', look)
          turns += 1
          resolve({ clockMs: Number(turn[1]), cpuMs: Number(turn[2]) })
        }
        child.stdout?.on('data', look)
        child.kill('SIGUSR2')
      }),
  }
}
