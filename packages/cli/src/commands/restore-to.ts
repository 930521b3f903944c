// What restores to a new data directory have in common: the moment, the progress, the result.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { Progress } from '@annal/engine'
import { exitCode } from '../exit-code.ts'
import { timeOf } from '../moment.ts'
import type { Terminal } from '../terminal.ts'
import { unlessInterrupted } from '../whole-files.ts'

/** Options of a restore to a new directory. */
export interface RestoreToOptions {
  readonly toLsn?: number
  readonly toTime?: string
  readonly json?: boolean
}

/** Source, target, and moment of a restore, and where its progress is shown. */
export interface RestoreTo {
  readonly from: string
  readonly to: string
  readonly lsn: number | undefined
  readonly timeMs: number | undefined
  readonly onProgress: (progress: Progress) => void
}

/** The directories next to the target in which restores of it are made. */
function temporaryOf(to: string): string[] {
  const target = path.resolve(to)
  const names = [`tmp-${path.basename(target)}-`, `tmp-download-${path.basename(target)}-`]
  const folder = path.dirname(target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => names.some((start) => name.startsWith(start)))
    .map((name) => path.join(folder, name))
}

/** Runs a restore and prints its result. `failure` turns an error of the restore into the end of the command. */
export async function restoreTo(
  { from, to, options, terminal }: { from: string; to: string; options: RestoreToOptions; terminal: Terminal },
  restore: (what: RestoreTo) => Promise<{ readonly lsn: number }>,
  failure: (error: unknown) => unknown,
): Promise<number> {
  const timeMs = options.toTime === undefined ? undefined : timeOf(options.toTime, '--to-time').getTime()
  if (!options.json) terminal.say(`restoring ${from}; the result is opened once as a test`)
  const onProgress = ({ job, done, total }: Progress) => terminal.bar.show(`opening the result: ${job}`, done, total)
  const before = new Set(temporaryOf(to))
  const { lsn } = await unlessInterrupted(
    () => temporaryOf(to).filter((directory) => !before.has(directory)),
    () => restore({ from, to, lsn: options.toLsn, timeMs, onProgress }),
  ).catch((error: unknown) => {
    throw failure(error)
  })
  const made = path.resolve(to)
  terminal.line(options.json ? JSON.stringify({ directory: made, lsn }) : `${made} contains ${from} as of LSN ${lsn}`)
  return exitCode.good
}
