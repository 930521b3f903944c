// Where a command writes: results to one stream, messages to the other, and a progress bar on a terminal.
import { type ProgressBar, progressBar } from './progress-bar.ts'

export interface Terminal {
  /** Writes a result to standard output. */
  line(text: string): void
  /** Writes a message for the user to standard error. */
  say(text: string): void
  /** Shows a progress bar on a terminal; one at a time. */
  readonly bar: ProgressBar
}

export function terminal(): Terminal {
  const bar = progressBar(process.stderr)
  return {
    line(text) {
      bar.clear()
      process.stdout.write(`${text}\n`)
    },
    say(text) {
      bar.clear()
      process.stderr.write(`${text}\n`)
    },
    bar,
  }
}
