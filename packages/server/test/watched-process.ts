// A server of a test as a process whose memory and turns of the event loop are measured from outside.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type RunningProcess, startProcess } from './running-process.ts'

const probe = fileURLToPath(new URL('turn-probe.ts', import.meta.url))

export interface Turn {
  readonly clockMs: number
  /** CPU time. */
  readonly cpuMs: number
}

export interface WatchedProcess extends RunningProcess {
  /** Its resident memory, now and the peak since the last reset. */
  memory(): Promise<{ readonly now: number; readonly peak: number }>
  resetPeak(): Promise<void>
  /** The longest turn of its event loop since the last call. */
  longestTurn(): Promise<Turn>
}

/** `through` and `main` are those of startProcess. */
export function startWatchedProcess(
  environment: Readonly<Record<string, string>>,
  through: readonly string[] = [],
  main?: string,
): WatchedProcess {
  const running = startProcess({ NODE_OPTIONS: `--import=${probe}`, ...environment }, main, through)
  const { child } = running
  let turns = 0
  const printedTurns = (): RegExpMatchArray[] => [...running.stdout().matchAll(/turn ([\d.]+) ([\d.]+)/g)]
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
          const turn = printedTurns()[turns]
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
