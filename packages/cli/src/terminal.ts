// Where a command writes: results to one stream, messages to the other, and a progress bar on a terminal. On a terminal every character
// is visible, so that stored text cannot control it; files and pipes get exact text.
import { exitCode } from './exit-code.ts'
import { type ProgressBar, progressBar } from './progress-bar.ts'
import { visibleLines } from './visible-text.ts'

export interface Terminal {
  /** Writes a result to standard output. */
  line(text: string): void
  /** Writes a message for the user to standard error. */
  say(text: string): void
  /** Shows a progress bar on a terminal; one at a time. */
  readonly bar: ProgressBar
  /** Cells in a line of standard output; undefined if it is not a terminal. */
  readonly columns?: number | undefined
}

export function terminal(): Terminal {
  const bar = progressBar(process.stderr)
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endWithoutReader)
  return {
    line(text) {
      bar.clear()
      process.stdout.write(`${process.stdout.isTTY ? visibleLines(text) : text}\n`)
    },
    say(text) {
      bar.clear()
      process.stderr.write(`${process.stderr.isTTY ? visibleLines(text) : text}\n`)
    },
    bar,
    get columns() {
      // A terminal may not know its size.
      return process.stdout.isTTY ? process.stdout.columns || 80 : undefined
    },
  }
}

/** The reader of a pipe has ended, such as `head`: so does the command, with the code that shells know for this. */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(exitCode.noReader)
}
