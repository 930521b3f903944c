// The progress bar of every long command: drawn by cli-progress on a terminal, and nothing anywhere else.
import cliProgress from 'cli-progress'
import { amount } from './amounts.ts'

export interface ProgressBar {
  /** `total` is undefined if the total is unknown. */
  show(label: string, done: number, total: number | undefined): void
  /** Removes the bar. */
  clear(): void
}

const barCells = 30

export const silentBar: ProgressBar = { show: () => undefined, clear: () => undefined }

export function progressBar(stream: NodeJS.WriteStream): ProgressBar {
  return stream.isTTY ? drawnBar(stream) : silentBar
}

function drawnBar(stream: NodeJS.WriteStream): ProgressBar {
  let drawn: { readonly bar: cliProgress.SingleBar; readonly kind: string } | undefined
  const clear = () => {
    drawn?.bar.stop()
    drawn = undefined
  }
  return {
    show(label, done, total = 0) {
      const kind = `${total > 0} ${label}`
      if (drawn?.kind === kind) {
        drawn.bar.setTotal(total)
        drawn.bar.update(done)
        return
      }
      clear()
      const bar = new cliProgress.SingleBar(optionsFor(stream, total > 0))
      bar.start(total, done, { label })
      drawn = { bar, kind }
    },
    clear,
  }
}

function optionsFor(stream: NodeJS.WriteStream, isTotalKnown: boolean): cliProgress.Options {
  return {
    stream,
    format: isTotalKnown ? '{label} [{bar}] {percentage} %  {value} of {total}' : '{label} {value}',
    barsize: barCells,
    barCompleteChar: '#',
    barIncompleteChar: '-',
    autopadding: true,
    clearOnComplete: true,
    // Cuts the bar to the width of the terminal. Turning its wrapping off would outlast a process that is killed.
    linewrap: true,
    formatValue: (value, _options, type) => (type === 'percentage' ? String(value).padStart(3) : amount(value)),
  }
}
